package mcpserver

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/task"
)

func TestAPanicEndsOneRequest(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	h := &handler{log: slog.New(slog.NewTextHandler(&log, nil))}
	t.Run("of a method", func(t *testing.T) {
		_, err := h.survive(func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("secret") })(t.Context(), "prompts/get", nil)
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), internalMessage) {
			t.Errorf("%v", err)
		}
	})
	t.Run("of a tool", func(t *testing.T) {
		res := h.perform(t.Context(), tool{name: "x", run: func(*call) (answer, error) { panic("secret") }}, nil)
		if text := res.Content[0].(*mcp.TextContent).Text; !res.IsError || text != internalMessage {
			t.Errorf("%v %s", res.IsError, text)
		}
	})
	if n := strings.Count(log.String(), "panic: secret"); n != 2 {
		t.Errorf("got %d panics in the log: %s", n, log.String())
	}
}

func TestEndedWaitsLeaveNothing(t *testing.T) {
	t.Parallel()
	var w waits
	a := task.Actor{TokenID: 7}
	ended := 0
	hangUp := func() { ended++ }
	body := func(s string) []byte { return []byte(s) }
	forget := []func(){
		w.note(a, body(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"wait_seconds":1}}`), hangUp),
		w.note(a, body(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"wait_seconds":1}}`), hangUp),
		w.note(a, body(`{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"wait_seconds":1}}`), hangUp),
		w.note(a, body(`[{"jsonrpc":"2.0","id":1,"method":"wait"}]`), hangUp),
		w.note(a, body(`{"jsonrpc":"2.0","id":{},"method":"wait"}`), hangUp),
		w.note(a, body(`wait`), hangUp),
		w.note(a, body(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`), hangUp),
		w.note(a, body(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}`), hangUp),
		w.note(a, body(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`), hangUp),
	}
	open := func() map[waitKey]int {
		count := map[waitKey]int{}
		w.open.Range(func(_, k any) bool { count[k.(waitKey)]++; return true })
		return count
	}
	if is := open(); ended != 2 || len(is) != 2 || is[waitKey{7, jsonrpcID(t, float64(1))}] != 2 {
		t.Errorf("got %d ended, %v open", ended, is)
	}
	for _, f := range forget {
		f()
	}
	if is := open(); len(is) != 0 {
		t.Errorf("%v are left", is)
	}
}

func jsonrpcID(t *testing.T, v any) jsonrpc.ID {
	t.Helper()
	id, err := jsonrpc.MakeID(v)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestScanning(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]struct {
		depth   int
		numbers bool
	}{
		``: {0, true}, `5`: {0, true}, `[{"a":[]}]`: {3, true}, `"[["`: {0, true}, `"\"[["`: {0, true},
		`["\\",[]]`: {2, true}, `[true,false,null,"1e5"]`: {1, true},
		`[][][]`: {1, true}, `123456789012345`: {0, true}, `1234567890123456`: {0, false}, `-1.5`: {0, true},
		`1e5`: {0, false}, `[1E5]`: {1, false}, `"\`: {0, true}, `"`: {0, true}, `]]`: {0, true},
	} {
		if depth, numbers := scan([]byte(raw)); depth != want.depth || numbers != want.numbers {
			t.Errorf("%s: %d %v", raw, depth, numbers)
		}
	}
}
