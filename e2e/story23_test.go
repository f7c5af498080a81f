package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// docsClient is a client in docs/agents.md, set up by the block there.
type docsClient struct {
	claim, plan, ask, move, complete func(id string) string // each returns the response
}

// blockWith returns the first block of a document that contains a text.
func blockWith(t *testing.T, file, text string) string {
	t.Helper()
	for _, b := range fencedBlocks(t, file) {
		if strings.Contains(b.text, text) {
			return b.text
		}
	}
	t.Fatalf("%s has no block with %q", file, text)
	return ""
}

// TestStory23AClientOfTheDocsWorks has the clients in docs/agents.md that need no
// third-party program claim, plan, ask, hand over and complete. The others are
// tested if they are installed.
func TestStory23AClientOfTheDocsWorks(t *testing.T) {
	t.Parallel()
	pulls := [2]string{"read\nrunner: none", "You follow the docs."}
	s, person := newModelServer(t, modeltest.New(t), map[string][2]string{
		"reviewer": pulls, "shell": pulls, "curl": pulls, "bridge": pulls, "http": pulls,
	})
	for agent, connect := range map[string]func(t *testing.T, s *server, agent string) docsClient{
		"shell": shellOfDocs, "curl": curlOfDocs, "bridge": bridgeOfDocs, "http": httpOfDocs,
	} {
		t.Run(agent, func(t *testing.T) {
			c := connect(t, s, agent)
			first := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Ask and hand over", "owner": agent})
			second := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Complete", "owner": agent})
			id, other := first.ID.String(), second.ID.String()
			says := func(what, got, want string) {
				if !strings.Contains(got, want) {
					t.Fatalf("%s: %q is not in\n%s", what, want, got)
				}
			}
			says("claim", c.claim(""), "Ask and hand over")
			says("plan", c.plan(id), "")
			says("ask", c.ask(id), "")
			call[any](t, person, "POST", "/api/tasks/"+id+"/reply", map[string]any{"content": "Blue it is."})
			says("claim after the answer", c.claim(""), "Blue it is.")
			says("hand over", c.move(id), "")
			says("claim", c.claim(""), "Complete")
			says("complete", c.complete(other), "")
			moved := call[task.Task](t, person, "GET", "/api/tasks/"+id, nil)
			done := call[task.Task](t, person, "GET", "/api/tasks/"+other, nil)
			if moved.Owner != "reviewer" || len(moved.Steps) != 2 || done.Status != task.Done || done.Summary == "" {
				t.Errorf("got the tasks %s and %s", asJSON(moved), asJSON(done))
			}
		})
	}
}

// shellOfDocs runs the lines of the shell block, with the task of the caller instead
// of task 42.
func shellOfDocs(t *testing.T, s *server, agent string) docsClient {
	lines := strings.Split(blockWith(t, "docs/agents.md", "taskyard task claim"), "\n")
	dir := t.TempDir()
	put(t, filepath.Join(dir, "summary.txt"), "It is done.\n")
	token := s.token("--agent", agent, "--name", agent)
	run := func(line string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(binary(t))+":"+os.Getenv("PATH"), "TASKYARD_URL="+s.url(), "TASKYARD_TOKEN="+token)
		return output(t, cmd)
	}
	of := func(start string) func(string) string {
		return func(id string) string {
			t.Helper()
			for _, line := range lines {
				if strings.HasPrefix(line, start) {
					return run(strings.Replace(line, " 42 ", " "+id+" ", 1))
				}
			}
			t.Fatalf("the block has no %q", start)
			return ""
		}
	}
	return docsClient{
		claim: of("taskyard task claim"), plan: of("taskyard task steps"), move: of("taskyard task move"), complete: of("taskyard task complete"),
		ask: func(id string) string { return run("taskyard task ask " + id + " 'Red or blue?'") }, // as in the table "How to work"
	}
}

// curlOfDocs sends what the HTTP block sends, and the same to the paths of the
// table.
func curlOfDocs(t *testing.T, s *server, agent string) docsClient {
	installed(t, "curl", "apt-get install curl")
	line := strings.ReplaceAll(blockWith(t, "docs/agents.md", "/api/agents/coder/signup"), "coder", agent)
	token := s.token("--agent", agent, "--name", agent)
	send := func(method, path, body string) string {
		t.Helper()
		text := strings.NewReplacer("/api/agents/"+agent+"/signup", path, `{"waitSeconds":50}`, body,
			"curl -s", "curl -sf -X "+method).Replace(line)
		cmd := exec.CommandContext(t.Context(), "bash", "-c", text)
		cmd.Env = append(os.Environ(), "TASKYARD_URL="+s.url(), "TASKYARD_TOKEN="+token)
		return output(t, cmd)
	}
	at := func(method, rest, body string) func(string) string {
		return func(id string) string { t.Helper(); return send(method, "/api/tasks/"+id+rest, body) }
	}
	return docsClient{
		claim: func(string) string {
			t.Helper()
			return send("POST", "/api/agents/"+agent+"/signup", `{"waitSeconds":50}`)
		},
		plan:     at("PUT", "/steps", `{"steps":[{"title":"a"},{"title":"b"}]}`),
		ask:      at("POST", "/notify", `{"message":"Red or blue?","needsReply":true}`),
		move:     at("POST", "/move", fmt.Sprintf(`{"currentAgent":%q,"newAgent":"reviewer","comment":"Blue."}`, agent)),
		complete: at("POST", "/complete", `{"summary":"It is done."}`),
	}
}

// bridgeOfDocs starts the program in the block for other MCP clients.
func bridgeOfDocs(t *testing.T, s *server, agent string) docsClient {
	var settings struct {
		Servers map[string]struct {
			Command string            `json:"command"`
			Args    []string          `json:"args"`
			Env     map[string]string `json:"env"`
		} `json:"mcpServers"`
	}
	testkit.NoError(t, json.Unmarshal([]byte(blockWith(t, "docs/agents.md", `"command": "taskyard"`)), &settings))
	set := settings.Servers["taskyard"]
	token := s.token("--agent", agent, "--name", agent)
	cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(binary(t)), set.Command), set.Args...)
	for name, value := range set.Env {
		cmd.Env = append(cmd.Env, name+"="+os.Expand(value, func(v string) string {
			return map[string]string{"TASKYARD_URL": s.url(), "TASKYARD_TOKEN": token}[v]
		}))
	}
	return mcpOfDocs(t, agent, &mcp.CommandTransport{Command: cmd})
}

// httpOfDocs uses the address and header of the block for Gemini CLI.
func httpOfDocs(t *testing.T, s *server, agent string) docsClient {
	var settings struct {
		Servers map[string]struct {
			URL     string            `json:"httpUrl"`
			Headers map[string]string `json:"headers"`
		} `json:"mcpServers"`
	}
	testkit.NoError(t, json.Unmarshal([]byte(blockWith(t, "docs/agents.md", `"httpUrl"`)), &settings))
	set := settings.Servers["taskyard"]
	header := os.Expand(set.Headers["Authorization"], func(string) string { return s.token("--agent", agent, "--name", agent) })
	return mcpOfDocs(t, agent, &mcp.StreamableClientTransport{
		Endpoint:   strings.Replace(set.URL, "http://127.0.0.1:8080", s.url(), 1),
		HTTPClient: &http.Client{Transport: withHeader{header}}, DisableStandaloneSSE: true,
	})
}

// withHeader adds the header Authorization.
type withHeader struct{ value string }

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", h.value)
	return http.DefaultTransport.RoundTrip(r)
}

func mcpOfDocs(t *testing.T, agent string, by mcp.Transport) docsClient {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "docs", Version: "1"}, nil).Connect(t.Context(), by, nil)
	testkit.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	tool := func(name string, more map[string]any) func(string) string {
		return func(id string) string {
			t.Helper()
			if id != "" {
				more["task_id"] = id
			}
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: more})
			if err != nil || res.IsError {
				t.Fatalf("%s: %v %s", name, err, asJSON(res))
			}
			return asJSON(res)
		}
	}
	return docsClient{
		claim:    tool("signup_for_task", map[string]any{"agent_name": agent, "wait_seconds": 50}),
		plan:     tool("update_steps", map[string]any{"steps": []map[string]any{{"title": "a"}, {"title": "b"}}}),
		ask:      tool("notify_user", map[string]any{"message": "Red or blue?", "needs_reply": true}),
		move:     tool("move_task", map[string]any{"current_agent": agent, "new_agent": "reviewer", "comment": "Blue."}),
		complete: tool("complete_task", map[string]any{"summary": "It is done."}),
	}
}
