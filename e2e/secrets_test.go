package e2e

import (
	"strings"
	"sync"
	"testing"

	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// TestABuiltinAgentCannotPostItsSecrets has an agent write the value of a variable
// that its definition names into everything that it can write, and then searches the
// whole database.
func TestABuiltinAgentCannotPostItsSecrets(t *testing.T) {
	const secret = `deploy/zebra"crossing`
	t.Setenv("TEST_DEPLOY_LOGIN", secret)
	t.Setenv("TEST_MODEL_KEY", providerKey)
	var mu sync.Mutex
	n := 0
	m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
		mu.Lock()
		defer mu.Unlock()
		id, text := promptTask(r), asJSON("the login is "+secret)
		switch n++; n {
		case 1:
			return oneCall("create", `{"path":"login.txt","content":%s}`, text)
		case 2:
			return oneCall("add_comment", `{"taskId":%q,"content":%s}`, id, text)
		case 3:
			return oneCall("update_steps", `{"taskId":%q,"steps":[{"title":"Log in","details":%s}]}`, id, text)
		case 4:
			return oneCall("notify_user", `{"taskId":%q,"message":%s}`, id, text)
		}
		return oneCall("complete_task", `{"taskId":%q,"summary":%s}`, id, text)
	})
	s := newServer(t, "serve")
	s.file("taskyard.toml", "[approval]\npolicy = \"never\"\n[providers.test]\napi = \"openai\"\nbase_url = \""+
		m.URL+"/v1\"\napi_key_env = \"TEST_MODEL_KEY\"\nmodels = [\"test-model\"]\n")
	s.file("agents/coder.md", "---\nname: coder\ndescription: For tests.\ntools: read, "+
		"create\nenv: [TEST_DEPLOY_LOGIN]\n---\nYou are terse.\n")
	s.start()
	person := s.api(s.token("--scope", "operate"))
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Deploy", "owner": "coder"})
	if r := waitForRun(t, s, person, tk.ID); r.Status != task.RunCompleted || !strings.Contains(r.Summary, task.Redacted) {
		t.Fatalf("got the run %s", asJSON(r))
	}
	kept := strings.Join(append(s.rows("SELECT content || coalesce(data, '') FROM messages"),
		append(s.rows("SELECT details FROM steps"), append(s.rows("SELECT changes FROM events"),
			s.rows("SELECT coalesce(summary, '') FROM tasks")...)...)...), "\n")
	if strings.Contains(kept, "zebra") {
		t.Errorf("the secret was stored:\n%s", kept)
	}
	if c := strings.Count(kept, task.Redacted); c < 6 {
		t.Errorf("got only %d redacted texts:\n%s", c, kept)
	}
}
