//go:build linux

package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"taskyard/internal/testkit"
	"taskyard/runner/confine/escape"
	"taskyard/task"
)

// The test binary is also the keeper of a shell command.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ToolShellArg {
		testkit.EndHelper(ToolShellMain(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == escape.Arg {
		escape.Main(os.Args[2:], os.Stdout)
		testkit.EndHelper(0)
	}
	goleak.VerifyTestMain(m)
}

var allTools = []string{"read", "list", "glob", "grep", "fetch", "create", "edit", "bash"}

// newBox returns a box with all tools on a new workspace.
func newBox(t testing.TB, with ...func(*Options)) *Box {
	t.Helper()
	// Under the race detector a process waits a second before it exits.
	o := Options{Root: t.TempDir(), Agent: "coder", Granted: allTools, Env: []string{"GORACE=atexit_sleep_ms=0"}}
	for _, f := range with {
		f(&o)
	}
	b, err := Open(o)
	testkit.NoError(t, err)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

type args map[string]any

func call(t testing.TB, b *Box, tool string, a args) Result {
	t.Helper()
	raw, err := json.Marshal(a)
	testkit.NoError(t, err)
	return b.Call(t.Context(), tool, raw)
}

// ok calls a tool that must succeed.
func ok(t testing.TB, b *Box, tool string, a args) string {
	t.Helper()
	r := call(t, b, tool, a)
	if r.IsError {
		t.Fatalf("%s %v: %s", tool, a, cutMiddle(r.Text, 1000))
	}
	return r.Text
}

// refused calls a tool that must refuse with this text.
func refused(t testing.TB, b *Box, tool string, a args, want string) {
	t.Helper()
	r := call(t, b, tool, a)
	if !r.IsError || !strings.Contains(r.Text, want) {
		t.Errorf("%s %s: got error %v, %q; want a refusal with %q", tool, cutMiddle(fmt.Sprint(a), 200), r.IsError, cutMiddle(r.Text, 1000), want)
	}
}

// has checks that a text contains words.
func has(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in %q", w, cutMiddle(text, 1000))
		}
	}
}

// file writes a file in the workspace and returns its path.
func file(t testing.TB, b *Box, name, content string) string {
	t.Helper()
	path := filepath.Join(b.opts.Root, name)
	testkit.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	testkit.NoError(t, os.WriteFile(path, []byte(content), 0o666))
	return path
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	testkit.NoError(t, err)
	return string(b)
}

// secret writes a file outside of every workspace.
func secret(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	testkit.NoError(t, os.WriteFile(path, []byte("top secret"), 0o666))
	return path
}

func TestEveryToolOfADefinitionExceptTaskExists(t *testing.T) {
	t.Parallel()
	for _, name := range task.KnownTools {
		if (find(name) == nil) != (name == "task") {
			t.Errorf("%s is missing, or is not known to definitions", name)
		}
	}
	if n := len(table()); n != len(task.KnownTools)-1 {
		t.Errorf("got %d tools", n)
	}
}
