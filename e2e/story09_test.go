package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// handingArg makes this binary an agent that, in its run, makes the agent of the next
// argument do something in every way that a run can, and hands over its own task at
// the end.
const handingArg = "handing-agent"

func handingMain() int {
	api := &client.Client{URL: os.Getenv("TASKYARD_URL"), Token: os.Getenv("TASKYARD_TOKEN"), HTTP: &http.Client{Timeout: patience}}
	own, to := "/api/tasks/"+os.Getenv("TASKYARD_TASK_ID"), os.Args[2]
	for _, c := range []struct {
		method, path string
		body         map[string]any
	}{
		{"PUT", own + "/steps", map[string]any{"steps": []map[string]any{{"title": "a"}}}},
		{"POST", own + "/steps/0/subtask", map[string]any{"title": "subtask", "owner": to}},
		{"POST", "/api/tasks", map[string]any{"title": "created", "owner": to}},
		{"POST", "/api/delegate", map[string]any{"task": "delegated", "agentType": to}},
		{"POST", own + "/move", map[string]any{"currentAgent": os.Getenv("TASKYARD_AGENT"), "newAgent": to, "comment": "run it"}},
	} {
		if err := api.Do(context.Background(), c.method, c.path, c.body, nil); err != nil {
			fmt.Printf("%s %s: %v\n", c.method, c.path, err)
			return 1
		}
	}
	fmt.Println("handed over")
	return 0
}

// tool calls a tool of /mcp, which must succeed.
func (s *server) tool(token, name string, args map[string]any) {
	s.t.Helper()
	b, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": name, "arguments": args},
	})
	testkit.NoError(s.t, err)
	req := newRequest(s.t.Context(), http.MethodPost, s.url()+"/mcp", token, string(b))
	req.Header.Set("MCP-Protocol-Version", "2025-06-18")
	r := answerTo(s.t, http.DefaultClient, req)
	if r.status != http.StatusOK || strings.Contains(r.body, `"isError":true`) || strings.Contains(r.body, `"error":{`) {
		s.t.Fatalf("%s: %d %s", name, r.status, r.body)
	}
}

// rightsServer is a server with reader, who may read and hand over work, and two
// agents with a shell, whose programs note the tasks that they executed: root, and
// free, whose runs need no approval.
type rightsServer struct {
	*server
	person *client.Client
	reader string // its token
	agent  *client.Client
	done   string // the notes
}

func newRightsServer(t *testing.T) *rightsServer {
	t.Helper()
	srv := &rightsServer{server: newServer(t, "serve"), done: filepath.Join(t.TempDir(), "executed")}
	self := testBinary(t)
	script := filepath.Join(t.TempDir(), "note.sh")
	put(t, script, fmt.Sprintf("echo \"$TASKYARD_AGENT $TASKYARD_TASK_ID\" >>%q\necho noted\n", srv.done))
	srv.file("taskyard.toml", fmt.Sprintf(`[runners.note]
kind = "command"
command = ["/bin/sh", %q]
[runners.to-root]
kind = "command"
command = [%q, %q, "root"]
[runners.to-free]
kind = "command"
command = [%q, %q, "free"]
`, script, self, handingArg, self, handingArg))
	for name, lines := range map[string]string{
		"reader":  "tools: read, task\nrunner: none\n",
		"to-root": "tools: read, task\nrunner: to-root\n",
		"to-free": "tools: read, task\nrunner: to-free\n",
		"root":    "tools: read, bash\nrunner: note\n",
		"free":    "tools: read, bash\nrunner: note\napproval: never\n",
	} {
		srv.file("agents/"+name+".md", "---\nname: "+name+"\ndescription: For tests.\n"+lines+"---\nWork.\n")
	}
	srv.start()
	srv.person = srv.api(srv.token("--scope", "review"))
	srv.reader = srv.token("--agent", "reader")
	srv.agent = srv.api(srv.reader)
	return srv
}

// mine creates a task of reader, made by a person and claimed by reader.
func (srv *rightsServer) mine() string {
	srv.t.Helper()
	tk := call[task.Task](srv.t, srv.person, "POST", "/api/tasks",
		map[string]any{"title": "a person's", "owner": "reader", "steps": []map[string]any{{"title": "a"}}})
	call[any](srv.t, srv.agent, "POST", "/api/agents/reader/signup", map[string]any{"maxConcurrent": 50})
	return tk.ID.String()
}

// theirs creates a person's task of an agent below a task of reader, paused until it
// is changed.
func (srv *rightsServer) theirs(to string, change func(id string)) string {
	srv.t.Helper()
	call[any](srv.t, srv.person, "POST", "/api/pause", map[string]any{"agent": to, "reason": "wait"})
	tk := call[task.Task](srv.t, srv.person, "POST", "/api/tasks/"+srv.mine()+"/steps/0/subtask",
		map[string]any{"title": "a part", "owner": to})
	change(tk.ID.String())
	call[any](srv.t, srv.person, "POST", "/api/resume", map[string]any{"agent": to})
	return tk.ID.String()
}

// newest returns the task that was created last.
func (srv *rightsServer) newest() string { return srv.rows("SELECT max(id) FROM tasks")[0] }

// actions returns every way in which reader can make an agent do something. Each
// returns the task.
func (srv *rightsServer) actions(to string) map[string]func() string {
	post := func(path string, body map[string]any) { call[any](srv.t, srv.agent, "POST", path, body) }
	patch := func(id string, body map[string]any) { call[any](srv.t, srv.agent, "PATCH", "/api/tasks/"+id, body) }
	return map[string]func() string{
		"create": func() string {
			post("/api/tasks", map[string]any{"title": "x", "owner": to})
			return srv.newest()
		},
		"create by MCP": func() string {
			srv.tool(srv.reader, "create_task", map[string]any{"title": "x", "owner": to})
			return srv.newest()
		},
		"start": func() string {
			post("/api/tasks", map[string]any{"title": "x", "owner": to, "status": "draft"})
			id := srv.newest()
			patch(id, map[string]any{"status": "active"})
			return id
		},
		"subtask": func() string {
			post("/api/tasks/"+srv.mine()+"/steps/0/subtask", map[string]any{"title": "x", "owner": to})
			return srv.newest()
		},
		"subtask by MCP": func() string {
			srv.tool(srv.reader, "create_subtask", map[string]any{"taskId": srv.mine(), "stepIndex": 0, "title": "x", "owner": to})
			return srv.newest()
		},
		"delegate": func() string {
			post("/api/delegate", map[string]any{"task": "x", "agentType": to})
			return srv.newest()
		},
		"delegate by MCP": func() string {
			srv.tool(srv.reader, "task", map[string]any{"task": "x", "agent_type": to, "wait_seconds": 0})
			return srv.newest()
		},
		"move": func() string {
			id := srv.mine()
			post("/api/tasks/"+id+"/move", map[string]any{"currentAgent": "reader", "newAgent": to, "comment": "x"})
			return id
		},
		"move by MCP": func() string {
			id := srv.mine()
			srv.tool(srv.reader, "move_task", map[string]any{"task_id": id, "current_agent": "reader", "new_agent": to, "comment": "x"})
			return id
		},
		"owner": func() string {
			id := srv.mine()
			patch(id, map[string]any{"description": "x", "owner": to})
			return id
		},
		"reassign": func() string {
			id := srv.mine()
			post("/api/agents/reader/reassign", map[string]any{"taskIds": []string{id}, "newAgent": to, "comment": "x"})
			return id
		},
		"description": func() string {
			return srv.theirs(to, func(id string) { patch(id, map[string]any{"description": "x"}) })
		},
		"description by MCP": func() string {
			return srv.theirs(to, func(id string) {
				srv.tool(srv.reader, "update_task", map[string]any{"taskId": id, "description": "x"})
			})
		},
		"title": func() string {
			return srv.theirs(to, func(id string) { patch(id, map[string]any{"title": "x"}) })
		},
		"steps": func() string {
			return srv.theirs(to, func(id string) {
				call[any](srv.t, srv.agent, "PUT", "/api/tasks/"+id+"/steps", map[string]any{"steps": []map[string]any{{"title": "x"}}})
			})
		},
		"comment": func() string {
			return srv.theirs(to, func(id string) { post("/api/tasks/"+id+"/comments", map[string]any{"content": "x"}) })
		},
		"comment by MCP": func() string {
			return srv.theirs(to, func(id string) {
				srv.tool(srv.reader, "add_comment", map[string]any{"taskId": id, "content": "x"})
			})
		},
	}
}

// executed returns the tasks whose program ran.
func (srv *rightsServer) executed() string {
	b, err := os.ReadFile(srv.done)
	if err != nil && !os.IsNotExist(err) {
		srv.t.Fatal(err)
	}
	return string(b)
}

// TestStory09 has an agent without a shell try every way to make another agent use
// one.
func TestStory09(t *testing.T) {
	t.Parallel()
	srv := newRightsServer(t)
	inside := map[string]task.ID{}
	for _, agent := range []string{"to-root", "to-free"} {
		inside[agent] = call[task.Task](t, srv.person, "POST", "/api/tasks", map[string]any{"title": "hand it on", "owner": agent}).ID
	}
	run := func(id string) string {
		return "SELECT r.status, r.phase, r.approval_why, coalesce(json_extract(r.spec, '$.tools'), '') FROM runs r WHERE r.task_id = " +
			id + " ORDER BY r.id DESC LIMIT 1"
	}
	// waits checks that the run of a task waits, and that people see why.
	waits := func(t *testing.T, id, who, way string) {
		testkit.Eventually(t, "a run of task "+id, func() bool {
			row := srv.rows(run(id))
			return len(row) == 1 && strings.HasPrefix(row[0], "pending|approval|")
		})
		if got, why := srv.rows(run(id))[0], who+", who lacks bash"; !strings.Contains(got, why) && !strings.HasPrefix(way, "delegate") {
			t.Errorf("%s: got the run %s, want %q", way, got, why)
		}
	}
	// lesser checks that the run of a task had no shell.
	lesser := func(t *testing.T, id, way string) {
		testkit.Eventually(t, "the end of the run of task "+id, func() bool {
			row := srv.rows(run(id))
			return len(row) == 1 && strings.HasPrefix(row[0], "completed|")
		})
		if got := srv.rows(run(id))[0]; strings.Contains(got, "bash") {
			t.Errorf("%s: got the run %s", way, got)
		}
	}
	t.Run("inside a run", func(t *testing.T) {
		for agent, id := range inside {
			testkit.Eventually(t, "the run of "+agent, func() bool {
				return srv.rows("SELECT count(*) FROM runs WHERE agent = ? AND ended_at IS NOT NULL", agent)[0] == "1"
			})
			if got := srv.rows("SELECT status, summary FROM runs WHERE agent = ?", agent)[0]; got != "completed|handed over" {
				t.Fatalf("%s: got %s", agent, got)
			}
			for _, row := range srv.rows("SELECT id, title FROM tasks WHERE created_by = ? OR id = ?", agent, id) {
				k, title, _ := strings.Cut(row, "|")
				if agent == "to-free" {
					lesser(t, k, title)
				} else {
					waits(t, k, agent, title)
				}
			}
		}
	})
	for way, do := range srv.actions("root") {
		t.Run(way+" to an agent whose runs need approval", func(t *testing.T) { waits(t, do(), "reader", way) })
	}
	if got := srv.executed(); strings.Contains(got, "root ") {
		t.Errorf("without a person, got the executed tasks\n%s", got)
	}
	for way, do := range srv.actions("free") {
		t.Run(way+" to an agent whose runs do not", func(t *testing.T) { lesser(t, do(), way) })
	}
	t.Run("agents cannot import", func(t *testing.T) {
		_, errs, code := srv.command("", "import", filepath.Join(t.TempDir(), "none"))
		if code == exitOK {
			t.Errorf("%d %s", code, errs)
		}
	})
	t.Run("a person reads why, and approves", func(t *testing.T) {
		id := srv.actions("root")["move"]()
		waits(t, id, "reader", "move")
		r := srv.rows("SELECT max(id) FROM runs WHERE task_id = ?", id)[0]
		got := call[task.Run](t, srv.person, "GET", "/api/runs/"+r, nil)
		if got.Approval == nil || got.Approval.RequestReason != "handed over by reader, who lacks bash" {
			t.Errorf("got the run %s", asJSON(got))
		}
		call[any](t, srv.person, "POST", "/api/runs/"+r+"/approve", map[string]any{"version": got.Approval.Version})
		testkit.Eventually(t, "it runs", func() bool { return slices.Contains(strings.Split(srv.executed(), "\n"), "root "+id) })
	})
}
