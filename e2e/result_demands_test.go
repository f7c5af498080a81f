package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// weakeningArg makes this binary an agent that tries to remove the requirements of
// its task, and then does the work.
const weakeningArg = "weakening-agent"

// weakenings are what an agent could try against the requirements of a task, as JSON calls.
func weakenings(own string) []struct{ method, path, body string } {
	return []struct{ method, path, body string }{
		{"PATCH", own, `{"checks":[]}`},
		{"PATCH", own, `{"checks":[{"name":"lint","run":"true","required":true}]}`},
		{"PATCH", own, `{"policy":{"approvals":0}}`},
		{"PATCH", own, `{"policy":{"approvals":1,"from":["coder"]}}`},
		{"PATCH", own, `{"title":"Easier","checks":[]}`},
		{"PATCH", own, `{"project":""}`},
		{"PATCH", own, `{"boundBy":[]}`},
		{"PATCH", own, `{"status":"done"}`},
		{"POST", own + "/checks/lint/run", `{}`},
		{"POST", "/api/tasks", `{"title":"Another","owner":"coder","checks":[{"name":"a","kind":"url"}]}`},
		{"POST", "/api/tasks", `{"title":"Another","owner":"coder","policy":{"approvals":1}}`},
		{"PUT", "/api/projects/web", `{"checks":[]}`},
		{"PUT", "/api/agents/coder", `{"text":"---\ndescription: d\ntools: read\n---\nWork.\n"}`},
		{"POST", own + "/results/1/accept", `{"digest":"x"}`},
		{"PATCH", "/api/settings", `{"set":{"runs.max_check_attempts":"1"}}`},
	}
}

// weaken tries all of it with a token and returns what was not
// refused.
func weaken(ctx context.Context, api *client.Client, own string) (passed []string) {
	send := func(method, path, body string) (status int, answer string) {
		r, err := exchange(api.HTTP, newRequest(ctx, method, api.URL+path, api.Token, body))
		if err != nil {
			return 0, err.Error()
		}
		return r.status, r.body
	}
	for _, w := range weakenings(own) {
		if status, answer := send(w.method, w.path, w.body); status < 400 || status >= 500 {
			passed = append(passed, fmt.Sprintf("%s %s %s: %d %s", w.method, w.path, w.body, status, answer))
		}
	}
	id := own[strings.LastIndexByte(own, '/')+1:]
	for _, args := range []string{`"title":"Greet"`, `"checks":[]`, `"policy":{"approvals":0}`, `"project":""`, `"boundBy":[]`} {
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"update_task","arguments":{"task_id":"` + id + `",` + args + `}}}`
		status, answer := send("POST", "/mcp", call)
		done := status == http.StatusOK && !strings.Contains(answer, `"isError":true`) && !strings.Contains(answer, `"error":{`)
		if harmless := strings.HasPrefix(args, `"title"`); done != harmless { // the harmless one shows that the call works
			passed = append(passed, fmt.Sprintf("update_task %s: %d %s", args, status, answer))
		}
	}
	for _, path := range []string{"/checks", "/checks/lint/run", "/edit", "/review/accept"} {
		if status, answer := send("POST", strings.TrimPrefix(own, "/api")+path, ""); status < 400 {
			passed = append(passed, fmt.Sprintf("POST page %s: %d %s", path, status, answer))
		}
	}
	return passed
}

func weakeningMain() int {
	ctx := context.Background()
	api := &client.Client{URL: os.Getenv("TASKYARD_URL"), Token: os.Getenv("TASKYARD_TOKEN"), HTTP: &http.Client{Timeout: patience}}
	own := "/api/tasks/" + os.Getenv("TASKYARD_TASK_ID")
	fail := func(err error) int {
		fmt.Println("failed:", err)
		return 1
	}
	complete := func(text string) error {
		if err := os.WriteFile("greeting.txt", []byte(text), 0o644); err != nil {
			return err
		}
		return api.Do(ctx, "POST", own+"/complete", map[string]any{"summary": "The greeting is written."}, nil)
	}
	err := complete("hello\n")
	if err == nil || !strings.Contains(err.Error(), "the required check lint failed") || !strings.Contains(err.Error(), "no world") {
		return fail(fmt.Errorf("for a failed check of the definition, got %w", err))
	}
	if passed := weaken(ctx, api, own); len(passed) > 0 {
		return fail(fmt.Errorf("not refused: %s", strings.Join(passed, "\n")))
	}
	if err := complete("hello\n"); err == nil || !strings.Contains(err.Error(), "lint failed") {
		return fail(fmt.Errorf("for the check of its task, got %w", err))
	}
	if err := complete("hello\nworld\n"); err != nil {
		return fail(err)
	}
	return 0
}

// TestADefinitionAndATaskAddRequirements has a check in the definition, which the
// agent cannot remove, and a second reviewer whom the task requires.
func TestADefinitionAndATaskAddRequirements(t *testing.T) {
	t.Parallel()
	srv := newProjectServer(t, weakeningArg)
	srv.file("agents/coder.md", "---\nname: coder\ndescription: For tests.\ntools: read, edit, bash\nrunner: coder\nprojects: [web]\n"+
		"checks:\n  - {name: lint, run: \"grep -q world greeting.txt || { echo no world; exit 4; }\", required: true}\n---\nWork.\n")
	srv.kill()
	srv.start()
	must(t, goodPassword+"\n", "user", "add", "--data", srv.data, "--role", "reviewer", "rita")
	maya := &shell{t, map[string]string{"TASKYARD_URL": srv.url(), "TASKYARD_TOKEN": srv.person.Token}}
	rita := &shell{t, map[string]string{
		"TASKYARD_URL":   srv.url(),
		"TASKYARD_TOKEN": must(t, "", "token", "create", "--data", srv.data, "--user", "rita", "--scope", "review", "--name", "ritas"),
	}}
	wants(t, maya.ok("", "agent", "show", "coder"), "projects", "web", "Checks of its tasks", "lint", "no world")

	id := maya.ok("", "task", "create", "Write a greeting", "--owner", "coder", "--project", "web", "--quiet",
		"--check", `name=short,run=test $(wc -l <greeting.txt) -lt 9,required`, "--reviewer", "rita")
	wants(t, maya.ok("", "task", "show", id), "Own checks", "short", "review", "1 approval from rita")
	srv.awaits(1, "in review", inReview(1))
	wants(t, maya.ok("", "task", "check", id), "1 approval; and 1 approval from rita", "project web", "agent coder", "task", "passed at")
	testkit.Eventually(t, "the run ends", func() bool { return len(srv.rows("SELECT id FROM runs WHERE ended_at IS NULL")) == 0 })
	wants(t, rita.ok("", "task", "check", id, "lint"), "✓ lint passed")
	maya.fails(client.ExitRefused, "404 not_found", "task", "check", id, "none")

	maya.ok("", "review", "accept", id)
	tk := call[task.Task](t, srv.person, "GET", "/api/tasks/"+id, nil)
	if tk.WaitingFor != task.WaitsReview {
		t.Fatalf("after the vote of the first reviewer, got the task %s, waiting for %q", tk.Status, tk.WaitingFor)
	}
	wants(t, maya.ok("", "task", "why", id), "has been waiting for 1 more vote from rita")
	rita.ok("", "review", "accept", id)
	srv.awaits(1, "done", func(tk *task.Task) bool { return tk.Status == task.Done })
	if got := testkit.Git(t, srv.repo, "show", "main:greeting.txt"); got != "hello\nworld" {
		t.Errorf("main contains %q", got)
	}
}

// TestATokenOfAnAgentCannotRemoveRequirements attacks from outside a run.
func TestATokenOfAnAgentCannotRemoveRequirements(t *testing.T) {
	t.Parallel()
	srv := newProjectServer(t, changingArg)
	srv.file("agents/coder.md", "---\nname: coder\ndescription: For tests.\ntools: read, task\nrunner: none\n"+
		"checks: [{name: lint, run: \"false\", required: true}]\n---\nWork.\n")
	srv.kill()
	srv.start()
	tk := call[task.Task](t, srv.person, "POST", "/api/tasks", map[string]any{
		"title": "Greet", "owner": "coder", "project": "web", "policy": map[string]any{"approvals": 2},
		"checks": []any{map[string]any{"name": "own", "run": "false", "required": true}},
	})
	own := "/api/tasks/" + tk.ID.String()
	agent := srv.api(must(t, "", "token", "create", "--data", srv.data, "--agent", "coder", "--name", "coders"))
	type answer struct {
		InForce []task.InForce
		Policy  task.Accept
	}
	before := asJSON(call[answer](t, srv.person, "GET", own+"/checks", nil))
	if passed := weaken(t.Context(), agent, own); len(passed) > 0 {
		t.Errorf("not refused:\n%s", strings.Join(passed, "\n"))
	}
	if after := asJSON(call[answer](t, srv.person, "GET", own+"/checks", nil)); after != before {
		t.Errorf("got in force %[2]s\nwant %[1]s", before, after)
	}
}
