//go:build linux

package claude

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
)

// The transcript goes into the database, but names and IDs stay in memory until the
// run ends.
func TestTheStateKeptForAProgramIsBounded(t *testing.T) {
	t.Parallel()
	const lines, size, limit = 20, 100_000, 1 << 20
	long := func(n int) string { return fmt.Sprint(n) + strings.Repeat("x", size) }
	r := newReader(supervise.NewRun(supervise.Spec{Dir: t.TempDir()}, &runnertest.Recorder{}), nil)
	for n := range lines {
		r.assistant(lineFrom(t, `{"type":"assistant","message":{"id":%q,"usage":{"output_tokens":1}}}`, long(n)))
		r.assistant(lineFrom(t, `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","name":%q}]}}`, long(n)))
	}
	for n := range 10_000 {
		r.noteDenied(fmt.Sprint("tool ", n))
	}
	held := 0
	for id := range r.counted {
		held += len(id)
	}
	for name := range r.denied {
		held += len(name)
	}
	if held > limit {
		t.Errorf("it keeps %d bytes", held)
	}
	if r.Usage.TokensOut != lines {
		t.Errorf("got %d tokens, want %d", r.Usage.TokensOut, lines)
	}
}

func lineFrom(t *testing.T, format string, a ...any) *line {
	t.Helper()
	var l line
	testkit.NoError(t, json.Unmarshal(fmt.Appendf(nil, format, a...), &l))
	return &l
}
