// Package tools implements the built-in tools of an agent: read, list, glob,
// grep, fetch, create, edit and bash. A Box confines them to one folder, the
// workspace of a run, and checks at each call whether the agent may use the
// tool. Arguments and file contents are untrusted.
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

// Options configures a Box.
type Options struct {
	Root    string   // the workspace: an existing folder, absolute
	Agent   string   // the agent, for error messages
	Granted []string // the tools that the agent may use; empty: none
	Network bool     // bash may use the network

	Shell                 ShellLevel       // how bash is confined; "": the best that is available
	AcceptUnconfinedShell bool             // run bash without confinement if none is available
	ReadOnly              []string         // folders, besides those of the system, that bash may read; absolute
	Private               string           // existing folder with home and tmp, which is kept; "": a temporary one
	Env                   []string         // NAME=value, besides PATH, HOME, TMPDIR, LANG and TERM, for bash
	ShellStart            []string         // command line of the keeper; nil: this binary with ToolShellArg
	FetchAllow            []netip.AddrPort // non-public addresses that fetch may dial

	resolver  *net.Resolver // for fetch; nil: that of the system
	kernel    *kernel       // what it can enforce; nil: detected
	processes int           // of a command; 0: maxProcesses

	searchTime time.Duration // of glob and grep; 0: searchTime
}

// Box holds the tools of one run. It is safe for concurrent use and must be
// closed.
type Box struct {
	opts    Options
	root    *os.Root
	device  uint64 // file system of the workspace; others are rejected
	places  []string
	private *scratch.Folder // HOME and TMPDIR of bash
	client  *http.Client    // for fetch

	mu   sync.Mutex
	seen map[string][32]byte // SHA-256 of files when they were read or written here, by path
}

// Tool describes a tool to a model.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage // JSON schema of the arguments
}

// Result is the result of a tool call. Text is valid UTF-8 without NUL.
type Result struct {
	Text    string
	IsError bool
	Denied  bool     // the agent may not use the tool; to be recorded, the run continues
	Files   []string // changed files: slash-separated paths below the workspace, sorted, at most 200
}

// Open opens a box. It returns an error if the workspace cannot be used.
func Open(o Options) (*Box, error) {
	if !filepath.IsAbs(o.Root) {
		return nil, fmt.Errorf("the workspace must be an absolute path, not %q", o.Root)
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

// Close releases the resources of the box and removes its private folder. The
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
// here, harmless ones first.
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

// Call runs a tool. Failures are part of the result, which the model reads.
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

// granted lists the tools that the agent may use, for an error message.
func (b *Box) granted() string {
	if len(b.opts.Granted) == 0 {
		return "none"
	}
	return strings.Join(b.opts.Granted, ", ")
}

// remember records a file as the agent saw it.
func (b *Box) remember(name string, sum [32]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen[name] = sum
}
