package mcpserver_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"taskyard/internal/testkit"
)

// TestACallLeavesNothingBehind makes 1,000 calls, each of which the SDK serves as
// its own session: none may be kept. It is not parallel, because it counts
// goroutines.
func TestACallLeavesNothingBehind(t *testing.T) {
	ts := newTestServer(t)
	ts.task("coder", "one")
	call := func(n int) {
		for range n {
			if status, body, _ := ts.answer("coder", "/mcp", rpc(1, "get_task", `{"taskId":1}`)); status != http.StatusOK ||
				strings.Contains(body, `"isError":true`) {
				t.Fatalf("%d %s", status, body)
			}
		}
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	call(50) // connections, statements and pools are created once
	goroutines, bytes := runtime.NumGoroutine(), heap()
	call(1000)
	testkit.Eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
	if grown := int64(heap()) - int64(bytes); grown > 2<<20 {
		t.Errorf("1,000 calls left %d bytes", grown)
	} else {
		t.Logf("1,000 calls left %d bytes", grown)
	}
}
