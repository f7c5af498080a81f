package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// TestAWebhookReceiverReportsOverTheAPI has receivers answer 202 and end their runs
// with the token that they got.
func TestAWebhookReceiverReportsOverTheAPI(t *testing.T) {
	t.Setenv("TEST_HOOK", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYq=")
	type data struct {
		RunID, TaskID task.ID
		Attempt       int
		Lease         int64
		URL, Token    string
	}
	got := make(chan data, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Data data }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
		got <- in.Data
	}))
	t.Cleanup(hook.Close)
	s := newServer(t, "serve")
	s.file("taskyard.toml", fmt.Sprintf("[runners.hook]\nkind = \"webhook\"\nurl = "+
		"%q\nsecret_env = \"TEST_HOOK\"\nallow_private = true\n", hook.URL))
	s.file("agents/hooked.md", "---\nname: hooked\ndescription: Works elsewhere.\ntools: read\nrunner: hook\n---\nWork.\n")
	s.start()
	person := s.api(s.token("--scope", "operate"))
	next := func() (data, *client.Client) {
		t.Helper()
		call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Do it there", "owner": "hooked"})
		d := <-got
		return d, &client.Client{URL: d.URL, Token: d.Token, HTTP: http.DefaultClient}
	}
	ends := func(d data, want string) {
		t.Helper()
		testkit.Eventually(t, "run "+d.RunID.String()+" is "+want, func() bool {
			return s.rows("SELECT status || '|' || phase || '|' || summary || '|' || reason FROM runs WHERE id = ?", d.RunID.String())[0] == want
		})
	}

	d, c := next()
	report := func(what string, more map[string]any) {
		t.Helper()
		in := map[string]any{"attempt": d.Attempt, "lease": d.Lease}
		maps.Copy(in, more)
		call[map[string]any](t, c, "POST", "/api/worker/runs/"+d.RunID.String()+"/"+what, in)
	}
	report("events", map[string]any{
		"from":   1,
		"events": []map[string]any{{"type": "text", "text": "at work"}, {"type": "tool_call", "data": map[string]int{"n": 1}}},
	})
	report("heartbeat", nil)
	report("finish", map[string]any{"status": "completed", "summary": "done there"})
	ends(d, "completed|ended|done there|")
	if got := s.rows("SELECT content FROM messages WHERE type = 'text'")[0]; got != "at work" {
		t.Errorf("got the transcript %q", got)
	}
	if err := c.Do(t.Context(), "GET", "/api/tasks", nil, nil); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("the token outlived its run: %v", err)
	}

	d, c = next()
	call[task.Task](t, c, "POST", "/api/tasks/"+d.TaskID.String()+"/complete", map[string]string{"summary": "all of it"})
	ends(d, "completed|ended|the task was completed|")
	if got := s.rows("SELECT status FROM tasks WHERE id = ?", d.TaskID.String())[0]; got != "done" {
		t.Errorf("got the task as %s", got)
	}

	d, c = next()
	report("finish", map[string]any{"status": "failed", "phase": "tokens", "reason": "too dear", "permanent": true})
	ends(d, "failed|tokens||too dear")
	if all := s.log.String(); strings.Contains(all, d.Token) || strings.Contains(all, hook.URL) {
		t.Error("the log contains the token or the address")
	}
}
