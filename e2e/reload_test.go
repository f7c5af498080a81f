package e2e

import (
	"fmt"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// reload makes a server read another configuration, and waits for a line in its log.
func (s *server) reload(toml, logs string) {
	s.t.Helper()
	seen := strings.Count(s.log.String(), logs)
	s.file("taskyard.toml", toml)
	s.sendHUP()
	testkit.Eventually(s.t, "the log has "+logs, func() bool { return strings.Count(s.log.String(), logs) > seen })
}

// TestRunnersAreReloaded changes the runner of an agent while the server runs.
func TestRunnersAreReloaded(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	says := func(text string) string {
		script := "cat > /dev/null; echo " + text + " $GREETING; echo '{\"summary\":\"done\",\"success\":true}'"
		return fmt.Sprintf("[approval]\npolicy = \"never\"\n[runners.x]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"-c\", %q]\n"+
			"env = {GREETING = \"%s-env\"}\n", script, text)
	}
	s.file("taskyard.toml", says("first"))
	for _, name := range []string{"x", "y"} {
		s.file("agents/"+name+".md", "---\ndescription: For tests.\ntools: read\nrunner: "+name+"\n---\nWork.\n")
	}
	s.start()
	c := s.api(s.token("--scope", "admin"))
	run := func(owner, want string) {
		t.Helper()
		tk := call[task.Task](t, c, "POST", "/api/tasks", map[string]any{"title": "Work", "owner": owner})
		if r := waitForRun(t, s, c, tk.ID); r.Status != task.RunCompleted {
			t.Errorf("got run %s: %s", r.State(), r.Reason)
		}
		if got := s.rows("SELECT content FROM messages WHERE task_id = ? AND content = ?", tk.ID, want); len(got) != 1 {
			t.Errorf("no run of %s printed %q", owner, want)
		}
	}
	run("x", "first first-env")
	t.Run("a changed runner is used by the next run", func(t *testing.T) {
		s.reload(says("second"), "runners reloaded")
		run("x", "second second-env")
	})
	t.Run("an invalid file changes nothing, and the log has the key", func(t *testing.T) {
		s.reload(strings.Replace(says("third"), "env =", "environment =", 1), "failed to reload the configuration")
		if log := s.log.String(); !strings.Contains(log, "runners.x.environment") {
			t.Errorf("got the log %s", log)
		}
		run("x", "second second-env")
	})
	t.Run("another name, and a key that needs a restart", func(t *testing.T) {
		s.reload("allowed_hosts = [\"a.example\"]\n"+strings.Replace(says("fourth"), "runners.x", "runners.y", 1), "runners reloaded")
		if log := s.log.String(); !strings.Contains(log, `"keys":["allowed_hosts"]`) {
			t.Errorf("the log does not name what needs a restart: %s", log)
		}
		run("y", "fourth fourth-env")
		x := call[task.Agent](t, c, "GET", "/api/agents/x", nil)
		if x.Serving || len(x.Problems) == 0 || !strings.Contains(x.Problems[0].Hint, "Configured runners are builtin, y") {
			t.Errorf("%+v", x)
		}
		list := call[struct{ Runners []task.RunnerInfo }](t, c, "GET", "/api/runners", nil).Runners
		if len(list) != 2 || list[1].Name != "y" {
			t.Errorf("got runners %+v", list)
		}
	})
	t.Run("the event log has the keys, without values of variables", func(t *testing.T) {
		got := strings.Join(s.rows("SELECT changes FROM events WHERE kind = 'settings.changed' ORDER BY id"), "\n")
		if !strings.Contains(got, `"runners.x.env":["{\"GREETING\" = \"***\"}","{\"GREETING\" = \"***\"}"]`) || strings.Contains(got, "-env") {
			t.Errorf("events\n%s", got)
		}
	})
}

// TestARunIsSteeredAfterItsRunnerWasRemoved removes the provider, and with it the
// runner, whose model a run uses.
func TestARunIsSteeredAfterItsRunnerWasRemoved(t *testing.T) {
	t.Parallel()
	said := make(chan struct{})
	first := oneCall("create", `{"path":"a.txt","content":"x"}`)
	first.Wait = said
	m := modeltest.New(t, first, modeltest.Step{Text: "With tabs."}, modeltest.Step{Text: "Tabs were used."})
	s, person := newBuiltinServer(t, "openai", m)
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Write", "owner": "coder"})
	testkit.Eventually(t, "the model gets a request", func() bool { return len(m.Turns()) == 1 })
	s.reload("[approval]\npolicy = \"never\"\n[runners.builtin]\nkind = \"claude\"\ncommand = [\"/nowhere/claude\"]\n", "runners reloaded")
	call[task.RunMessage](t, person, "POST", "/api/runs/1/messages", map[string]any{"text": "use tabs"})
	close(said)
	if r := waitForRun(t, s, person, tk.ID); r.Status != task.RunCompleted || r.Summary != "Tabs were used." && r.Summary != "With tabs." {
		t.Errorf("got run %s: %s %s", r.State(), r.Summary, r.Reason)
	}
	if asked := m.Requests(); !strings.Contains(string(asked[len(asked)-1].Body), "use tabs") {
		t.Errorf("the model got %s", asked[len(asked)-1].Body)
	}
	def := call[task.Agent](t, person, "GET", "/api/agents/coder", nil)
	if !def.PullOnly || !strings.Contains(def.PullReason, "/nowhere/claude") {
		t.Errorf("got the agent %+v", def)
	}
}
