// Package tools holds the built-in tools of an agent: read, list, glob, grep,
// fetch, create, edit and bash. A Box confines them to one folder, the
// workspace of a run, and decides at each call whether the agent may use the
// tool. What a tool is given, and what it finds, is taken for hostile.
package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"taskyard/runner/instance"
	"taskyard/runner/scratch"
	"taskyard/task"
)

// maxFiles bounds the paths of one Result.
const maxFiles = 200

// Options say what a Box may do.
type Options struct {
	Root    string   // the workspace: an existing folder, absolute
	Agent   string   // whose calls these are, for refusals
	Granted []string // the tools that the agent may use; none when empty
	Network bool     // bash may use the network

	Shell                 ShellLevel       // how bash is confined; "" is the best that there is
	AcceptUnconfinedShell bool             // run bash without confinement where there is none
	ReadOnly              []string         // folders, besides those of the system, that bash may read; absolute
	Private               string           // folder of home and tmp, which exist and stay; "": one of this box
	Env                   []string         // NAME=value, besides PATH, HOME, TMPDIR, LANG and TERM, for bash
	ShellStart            []string         // the command line of the keeper; nil: this binary and ToolShellArg
	FetchAllow            []netip.AddrPort // addresses that fetch may dial although they are not public

	resolver  *net.Resolver // of fetch; nil is the system's
	kernel    *kernel       // what it can enforce; nil: it is asked
	processes int           // of a command; 0 is maxProcesses

	searchTime time.Duration // of glob and grep; 0 is searchTime
}

// Box is the tools of one run. It is safe for concurrent use. Close it.
type Box struct {
	opts    Options
	root    *os.Root
	device  uint64 // the file system of the workspace; others are refused
	places  []string
	private *scratch.Folder // for bash: HOME and TMPDIR
	client  *http.Client    // of fetch

	mu   sync.Mutex
	seen map[string][32]byte // SHA-256 of files as they were read or written here, by path
}

// Tool is what a model is told of a tool.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage // JSON schema of the arguments
}

// Result is the answer of a tool. Text is valid UTF-8 without NUL.
type Result struct {
	Text    string
	IsError bool
	Denied  bool     // the agent may not use the tool: to be recorded; the run continues
	Files   []string // what the call changed: slash-separated paths below the workspace, sorted, at most 200
}

// Open makes a box. The error says that the workspace cannot be used.
func Open(o Options) (*Box, error) {
	if !filepath.IsAbs(o.Root) {
		return nil, fmt.Errorf("the workspace must be an absolute path, is %q", o.Root)
	}
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	b := &Box{opts: o, root: root, places: []string{filepath.Clean(o.Root)}, seen: map[string][32]byte{}}
	info, err := root.Stat(".")
	if err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("workspace: %w", err)
	}
	b.device = instance.Identify(info).Device
	if resolved, err := filepath.EvalSymlinks(o.Root); err == nil && resolved != b.places[0] {
		b.places = append(b.places, resolved)
	}
	b.client = newClient(o)
	return b, nil
}

// Close releases what the box holds, and removes its private folder. The
// workspace stays.
func (b *Box) Close() error {
	b.client.CloseIdleConnections()
	b.mu.Lock()
	private := b.private
	b.private = nil
	b.mu.Unlock()
	if private != nil {
		_ = private.Remove(context.Background())
	}
	return b.root.Close()
}

// Declared returns the tools among names that the agent may use and that work
// here, harmless first.
func (b *Box) Declared(names []string) []Tool {
	var out []Tool
	for _, t := range table() {
		if !slices.Contains(names, t.name) || !slices.Contains(b.opts.Granted, t.name) {
			continue
		}
		if t.name == "bash" && refusedShell(b.opts) != "" {
			continue
		}
		out = append(out, Tool{Name: t.name, Description: t.description, Schema: t.raw})
	}
	return out
}

// Call runs a tool. It never fails: what goes wrong is told to the model.
func (b *Box) Call(ctx context.Context, name string, args json.RawMessage) Result {
	t := find(name)
	switch {
	case t == nil:
		return Result{
			Text:    fmt.Sprintf("there is no tool %q: the tools of agent %s are %s", task.ClipChars(name, 100), b.opts.Agent, b.granted()),
			IsError: true, Denied: true,
		}
	case !slices.Contains(b.opts.Granted, name):
		return Result{
			Text:    fmt.Sprintf("agent %s may not use %s: its tools are %s", b.opts.Agent, name, b.granted()),
			IsError: true, Denied: true,
		}
	}
	r, err := t.run(ctx, b, args)
	if err != nil {
		r.Text, r.IsError = err.Error(), true
	}
	r.Text = task.CleanText(r.Text)
	return r
}

// granted lists what the agent may use, for a refusal.
func (b *Box) granted() string {
	if len(b.opts.Granted) == 0 {
		return "none"
	}
	return strings.Join(b.opts.Granted, ", ")
}

// remember keeps how a file looked when the agent saw it.
func (b *Box) remember(name string, sum [32]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen[name] = sum
}
