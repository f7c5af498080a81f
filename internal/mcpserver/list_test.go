package mcpserver_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/service"
)

// tools returns the response of tools/list for a caller.
func (c *client) tools() (names []string, res *mcp.ListToolsResult) {
	c.ts.t.Helper()
	res, err := c.ListTools(context.Background(), nil)
	if err != nil {
		c.ts.t.Fatal(err)
	}
	for _, t := range res.Tools {
		names = append(names, t.Name)
	}
	return names, res
}

func TestToolsFitTheirBudgets(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	for _, c := range []struct {
		path         string
		tools, token int
	}{{"/mcp", 39, 4500}, {"/mcp?profile=all", 39, 4500}, {"/mcp?profile=core", 11, 1500}} {
		names, _ := ts.connect("coder", c.path).tools()
		_, raw, _ := ts.answer("coder", c.path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		t.Logf("%s: %d tools, %d bytes, %d tokens of %d", c.path, len(names), len(raw), len(raw)/4, c.token)
		if len(raw)/4 >= c.token {
			t.Errorf("%s: %d tokens, want under %d", c.path, len(raw)/4, c.token)
		}
		if len(names) != c.tools {
			t.Errorf("%s: %d tools, want %d: %v", c.path, len(names), c.tools, names)
		}
	}
}

func TestNothingDelegatesWhenDelegationIsOff(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t, func(c *service.Config, _ *http.Server) {
		c.TaskTool.Enabled = false
	})
	names, _ := ts.connect("coder", "/mcp").tools()
	for _, name := range []string{"task", "task_status", "task_wait", "task_stop"} {
		if slices.Contains(names, name) {
			t.Errorf("%s is listed", name)
		}
	}
	if !slices.Contains(names, "todo_rpush") || len(names) != 35 {
		t.Errorf("got %d tools: %v", len(names), names)
	}
	_, raw, _ := ts.answer("coder", "/mcp",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task","arguments":{"task":"Look"}}}`)
	if !strings.Contains(raw, "unknown tool") {
		t.Errorf("a call returned %s", raw)
	}
}
