package runner

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
)

// TestWhatIsRememberedOfAProgramIsBounded: the transcript goes into the store,
// but names and ids stay in memory until the run ends.
func TestWhatIsRememberedOfAProgramIsBounded(t *testing.T) {
	const lines, size, most = 20, 100_000, 1 << 20
	long := func(n int) string { return fmt.Sprint(n) + strings.Repeat("x", size) }
	t.Run("of Claude Code: ids of messages, and the tools that it was refused", func(t *testing.T) {
		r := newClaudeReader(Spec{Dir: t.TempDir()}, &recorder{}, newStopper())
		defer r.out.Close()
		for n := range lines {
			r.assistant(claudeLineOf(t, `{"type":"assistant","message":{"id":%q,"usage":{"output_tokens":1}}}`, long(n)))
			r.assistant(claudeLineOf(t, `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","name":%q}]}}`, long(n)))
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
		if held > most {
			t.Errorf("it remembers %d bytes", held)
		}
		if r.usage.TokensOut != lines {
			t.Errorf("%d tokens, want %d", r.usage.TokensOut, lines)
		}
	})
	t.Run("of an agent of the ACP: calls with their titles and kinds", func(t *testing.T) {
		a := &acpTalk{protocol: newProtocol(Spec{Dir: t.TempDir()}, &recorder{}, newStopper()), tools: map[acp.ToolCallId]*acpTool{}}
		defer a.out.Close()
		for n := range lines {
			b, err := json.Marshal(map[string]any{
				"sessionId": "s",
				"update":    map[string]any{"sessionUpdate": "tool_call", "toolCallId": long(n), "title": long(n), "kind": long(n)},
			})
			if err != nil {
				t.Fatal(err)
			}
			a.update(b, b)
		}
		held := 0
		for id, c := range a.tools {
			held += len(id) + len(c.title) + len(c.kind)
		}
		if len(a.tools) != lines || held > most {
			t.Errorf("it remembers %d calls in %d bytes", len(a.tools), held)
		}
	})
}

func claudeLineOf(t *testing.T, format string, a ...any) *claudeLine {
	t.Helper()
	var l claudeLine
	if err := json.Unmarshal(fmt.Appendf(nil, format, a...), &l); err != nil {
		t.Fatal(err)
	}
	return &l
}
