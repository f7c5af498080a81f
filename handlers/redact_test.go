package handlers

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"taskyard/task"
)

// TestARunCannotPostItsSecrets has a run's agent write its secrets, in several forms,
// into everything that it can write.
func TestARunCannotPostItsSecrets(t *testing.T) {
	t.Parallel()
	const secret = `pass"phrase/zebra ü`
	inst := newSite(t, func(o setup) {
		o.Config.Secrets = func(names []string) []string { return []string{secret} }
	})
	ctx := context.Background()
	id := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Deploy"}).ID
	st := inst.runTask(id)
	q := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	text := q("the login is " + secret + " and " + st.Token)
	escaped := `"\u0070ass\"phrase\/z\u0065bra \u00fc"`
	path := "/api/tasks/" + id.String()
	send := func(method, path, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, method, inst.url+path, strings.NewReader(body))
		inst.ok(err)
		req.Header.Set("Authorization", "Bearer "+st.Token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		a := inst.browser().do(req)
		if a.status >= 300 {
			t.Errorf("%s %s: got %d %s", method, path, a.status, a.body)
		}
		return a.body
	}
	send("POST", path+"/comments", `{"content":`+text+`}`)
	send("POST", path+"/comments", `{"content":`+escaped+`}`)
	send("PATCH", path, `{"description":`+text+`}`)
	send("PUT", path+"/steps", `{"steps":[{"title":"s","details":`+text+`}]}`)
	send("POST", path+"/resources", `{"type":"file","value":"/a","label":`+text+`}`)
	send("POST", "/api/agents/coder/todo", `{"operation":"rpush","item":`+text+`}`)
	send("POST", path+"/complete", `{"summary":`+text+`}`)
	tk, err := inst.svc.Task(ctx, mayaActor, id)
	inst.ok(err)
	events, err := inst.svc.Events(ctx, mayaActor, task.EventFilter{Limit: 500})
	inst.ok(err)
	todo, err := inst.svc.TodoCall(ctx, mayaActor, "coder", task.TodoCall{Op: task.TodoList})
	inst.ok(err)
	all, err := json.Marshal([]any{tk, events, todo})
	inst.ok(err)
	if s := string(all); strings.Contains(s, "zebra") || strings.Contains(s, st.Token[3:]) {
		t.Errorf("a secret was stored: %s", s)
	}
	if n := strings.Count(string(all), task.Redacted); n < 8 {
		t.Errorf("got only %d redacted texts: %s", n, all)
	}
	t.Run("text by people is not redacted", func(t *testing.T) {
		b := inst.maya()
		other := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Other"}).ID
		b.post("/tasks/"+other.String()+"/comments", "content", secret)
		tk, err := inst.svc.Task(ctx, mayaActor, other)
		inst.ok(err)
		if len(tk.Comments) != 1 || tk.Comments[0].Content != secret {
			t.Errorf("got %+v", tk.Comments)
		}
	})
}

func FuzzRedactingKeepsTheRestOfABody(f *testing.F) {
	f.Add(`{"a":"x\u0079z","b":[1,"xyz"," \" "]}`)
	f.Add(`{"a":"xyz"`)
	red := task.NewRedactor("xyz")
	f.Fuzz(func(t *testing.T, s string) {
		same := redactJSON([]byte(s), func(s string) string { return s })
		if string(same) != s {
			t.Errorf("%q: got %q", s, same)
		}
		var before, after any
		out := redactJSON([]byte(s), red.Text)
		if json.Unmarshal([]byte(s), &before) == nil && json.Unmarshal(out, &after) != nil {
			t.Errorf("%q: got %q, which is not JSON", s, out)
		}
	})
}
