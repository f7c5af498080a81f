package mcpserver_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"taskyard/internal/testkit"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callers are the kinds of caller of /mcp. Callers without valid credentials are
// rejected before any tool.
var callers = []string{"coder", "own", "mute", "run", "viewer", "operator", "reviewing", "admin", "act-as", "worker"}

// TestEveryToolIsDecidedForEveryCaller calls every tool that the server lists
// as every kind of caller, and compares who has access with the decisions in
// testdata/callers.txt. A new tool must be added there (go test
// ./internal/mcpserver -run Decided -update) and reviewed.
func TestEveryToolIsDecidedForEveryCaller(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	ts.keeper()
	ts.SetToken("run", ts.runToken("hand"))
	tools := ts.tools("coder")
	first := map[string]args{}
	for _, s := range script {
		if _, known := first[s.tool]; !known {
			first[s.tool] = s.args
		}
	}
	var table bytes.Buffer
	for _, tool := range tools {
		a, known := first[tool]
		a = maps.Clone(a)
		switch { // people must name an agent
		case strings.HasPrefix(tool, "todo_"):
			a["agent_id"] = "coder"
		case tool == "reassign_multiple_tasks":
			a["current_agent"] = "coder"
		}
		if !known {
			t.Errorf("the tool %s is not in the script of golden_test.go: it is not known who may call it", tool)
		}
		may := []string{}
		for _, who := range callers {
			if !ts.rejects(who, tool, a) {
				may = append(may, who)
			}
		}
		fmt.Fprintf(&table, "%s: %s\n", tool, strings.Join(may, " "))
	}
	testkit.Golden(t, "callers.txt", table.String())
	t.Run("a caller without an identity reaches no tool", func(t *testing.T) {
		ts.SetToken("forged", "ty_"+strings.Repeat("a", 40))
		for _, who := range []string{"nobody", "forged"} {
			for _, tool := range tools {
				if !ts.rejects(who, tool, args{}) {
					t.Errorf("%s reaches %s", who, tool)
				}
			}
		}
	})
}

// tools returns the names of every tool, sorted.
func (ts *testServer) tools(caller string) (names []string) {
	ts.t.Helper()
	names, _ = ts.connect(caller, "/mcp").tools()
	slices.Sort(names)
	return names
}

// rejects reports whether the caller is rejected because of its identity.
func (ts *testServer) rejects(caller, tool string, a args) bool {
	ts.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(context.Background(), &mcp.StreamableClientTransport{
		Endpoint:   ts.URL + "/mcp",
		HTTPClient: &http.Client{Transport: withToken{ts.Token(caller), ts.Client.Transport}}, MaxRetries: -1,
	}, nil)
	if err != nil {
		return true
	}
	defer s.Close()
	res, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		return true
	}
	text := resultText(res)
	return res.IsError && (strings.Contains(text, "it requires the role") || strings.Contains(text, "does not have the capability") ||
		strings.Contains(text, "capabilities: tasks:own"))
}

// runToken starts a run of an agent and returns its token.
func (ts *testServer) runToken(agent string) string {
	ts.t.Helper()
	ctx, id := context.Background(), ts.task(agent, "Work")
	if _, err := ts.Service.RunNow(ctx, maya, id); err != nil {
		ts.t.Fatal(err)
	}
	start, _, err := ts.Service.NextRun(ctx, nil)
	if err != nil || start == nil {
		ts.t.Fatalf("no run starts: %v", err)
	}
	return start.Token
}
