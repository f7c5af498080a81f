//go:build linux

package acp

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
	conn := newConnection(t.Context(), nil)
	conn.read(supervise.NewRun(supervise.Spec{Dir: t.TempDir()}, &runnertest.Recorder{}))
	for n := range lines {
		b, err := json.Marshal(map[string]any{
			"sessionId": "s",
			"update":    map[string]any{"sessionUpdate": "tool_call", "toolCallId": long(n), "title": long(n), "kind": long(n)},
		})
		testkit.NoError(t, err)
		conn.update(b, b)
	}
	held := 0
	for id, c := range conn.tools {
		held += len(id) + len(c.title) + len(c.kind)
	}
	if len(conn.tools) != lines || held > limit {
		t.Errorf("it keeps %d calls in %d bytes", len(conn.tools), held)
	}
}
