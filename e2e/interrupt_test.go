package e2e

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/cmd"
	"taskyard/internal/testkit"
)

// The program turns the signals into the end of a context, so nothing may wait
// without it.
func TestCtrlCEndsACommandThatWaitsForInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.md")
	testkit.NoError(t, syscall.Mkfifo(pipe, 0o600))
	held := func(t *testing.T) { // a writer that writes nothing
		f, err := os.OpenFile(pipe, os.O_RDWR, 0)
		testkit.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
	}
	interrupted := func(t *testing.T, args ...string) (string, int) {
		t.Helper()
		terminal, hand := io.Pipe() // nothing is typed
		t.Cleanup(func() { _ = hand.Close() })
		ctx, interrupt := context.WithCancel(t.Context())
		vars := map[string]string{"TASKYARD_TOKEN": "ty_x", "TASKYARD_URL": "http://127.0.0.1:1"}
		var out, errs testkit.Buffer
		e := &cmd.Env{Ctx: ctx, Getenv: func(k string) string { return vars[k] }, Stdin: terminal, Stdout: &out, Stderr: &errs}
		ended := make(chan int, 1)
		go func() { ended <- cmd.Run(e, args) }()
		interrupt()
		select {
		case code := <-ended:
			return errs.String(), code
		case <-time.After(patience):
			t.Fatalf("taskyard %s keeps waiting", strings.Join(args, " "))
			return "", 0
		}
	}
	for name, args := range map[string][]string{
		"a password that is not typed":       {"user", "add", "--data", dir, "somebody"},
		"a text from stdin":                  {"task", "comment", "1", "-"},
		"a text from a pipe that stays open": {"task", "comment", "1", "--file", pipe},
		"a definition from such a pipe":      {"agent", "check", pipe},
	} {
		t.Run(name, func(t *testing.T) {
			held(t)
			if errs, code := interrupted(t, args...); code != exitRefused || !strings.Contains(errs, "interrupted") {
				t.Errorf("%d %q", code, errs)
			}
		})
	}
	t.Run("a pipe without a writer is an empty definition", func(t *testing.T) {
		lone := filepath.Join(dir, "lone.md")
		testkit.NoError(t, syscall.Mkfifo(lone, 0o600))
		if out, _, code := do(t, "", "agent", "check", lone); code != exitRefused || !strings.HasPrefix(out, "✗ ") {
			t.Errorf("%d %q", code, out)
		}
	})
}
