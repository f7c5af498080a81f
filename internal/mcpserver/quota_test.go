package mcpserver_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/internal/testkit"
	"taskyard/service"
	"taskyard/task"
)

// TestQuotasAreReportedToAgents uses up quotas with tool calls: the answer is a
// result that names the quota, its limit and when to retry.
func TestQuotasAreReportedToAgents(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock()
	ts := newTestServer(t, func(c *service.Config, _ *http.Server) { c.Now = clock.Now })
	id := ts.task("coder", "Talk")
	for _, q := range []struct {
		quota, tool, words string
		limit              int
		args               args
	}{
		{"notices", "notify_user", "120 notices and questions per minute", 120, args{"taskId": id, "message": "look"}},
		{"comments", "add_comment", "600 comments per minute", 600, args{"taskId": id, "content": "again"}},
	} {
		t.Run(q.quota, func(t *testing.T) {
			coder := ts.connect("coder", "/mcp")
			for n := range q.limit {
				if res := coder.call(q.tool, q.args); res.IsError {
					t.Fatalf("call %d: %s", n+1, resultText(res))
				}
			}
			res := coder.call(q.tool, q.args)
			wait := wantQuota(t, res, q.quota, q.words)
			ts.connect("reviewer", "/mcp").ok("notify_user", args{"taskId": ts.task("reviewer", "Calm"), "message": "look"})
			clock.Forward(time.Duration(wait) * time.Second)
			coder.ok(q.tool, q.args)
		})
	}
	t.Run("the quota of bytes refuses the request itself", func(t *testing.T) {
		token, err := ts.Service.Authenticate(t.Context(), ts.Token("coder"), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ts.Service.BeginRequest(token, 4<<30-600_000, http.NoBody); err != nil {
			t.Fatal(err)
		}
		body := rpc(1, "add_comment", `{"taskId":`+id.String()+`,"content":"`+strings.Repeat("x", 700_000)+`"}`)
		status, text, h := ts.answer("coder", "/mcp", body)
		wait, err := strconv.Atoi(h.Get("Retry-After"))
		if status != http.StatusTooManyRequests || err != nil || wait < 1 || !strings.Contains(text, string(task.CodeQuotaExceeded)) ||
			!strings.Contains(text, "bytes sent per day") {
			t.Errorf("%d, Retry-After %q: %s", status, h.Get("Retry-After"), text)
		}
	})
}

// wantQuota checks a refusal by a quota, and returns the seconds until there is
// room again.
func wantQuota(t *testing.T, res *mcp.CallToolResult, quota, words string) int {
	t.Helper()
	text := resultText(res)
	if !res.IsError {
		t.Fatalf("one more call was accepted: %s", text)
	}
	m, _ := res.StructuredContent.(map[string]any)
	wait, _ := m["retryAfter"].(float64)
	if m["code"] != string(task.CodeQuotaExceeded) || wait < 1 || wait > 60 {
		t.Errorf("got the structured content %v", m)
	}
	for _, w := range []string{`"` + quota + `"`, "one token", words, "free again in " + (time.Duration(wait) * time.Second).String()} {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not contain %q", text, w)
		}
	}
	return int(wait)
}
