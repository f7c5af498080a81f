package handlers

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

// TestWhatAWorkerReportsIsRedacted has a worker without redaction report secrets that
// the server knows, and its agent write them.
func TestWhatAWorkerReportsIsRedacted(t *testing.T) {
	t.Parallel()
	const secret = `pass"phrase/zebra ü`
	inst := newSite(t, func(o setup) {
		o.Config.Secrets = func([]string) []string { return []string{secret} }
		o.Config.Runner = func(string) service.Runner { return service.Runner{Worker: true} }
	})
	ctx := t.Context()
	worker, err := inst.svc.CreateToken(ctx, mayaActor, service.NewToken{Name: "box", Scope: "worker"})
	inst.ok(err)
	tk := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Deploy"})
	inst.ok2(inst.svc.RunNow(ctx, mayaActor, tk.ID))
	send := func(token, path string, body map[string]any) string {
		t.Helper()
		b, err := json.Marshal(body)
		inst.ok(err)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, inst.url+path, strings.NewReader(string(b)))
		inst.ok(err)
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		a := inst.browser().do(req)
		if a.status >= 300 {
			t.Fatalf("POST %s: got %d %s", path, a.status, a.body)
		}
		return a.body
	}
	var leased struct{ Run *task.Leased }
	inst.ok(json.Unmarshal([]byte(send(worker.Secret, "/api/worker/lease", map[string]any{})), &leased))
	if leased.Run == nil {
		t.Fatal("no run was leased")
	}
	run := "/api/worker/runs/" + leased.Run.RunID.String()
	held := func(more map[string]any) map[string]any {
		more["attempt"], more["lease"] = leased.Run.Attempt, leased.Run.Lease
		return more
	}
	said := "the login is " + secret + " and " + worker.Secret
	send(worker.Secret, run+"/working", held(map[string]any{}))
	var lines []map[string]any
	for _, kind := range []string{"text", "tool_call", "tool_result", "log", "error", "permission"} {
		lines = append(lines, map[string]any{"type": kind, "text": kind + ": " + said, "data": map[string]any{"deep": []string{said}, said: 1}})
	}
	send(worker.Secret, run+"/events", held(map[string]any{"from": 1, "events": lines}))
	send(leased.Run.Token, "/api/tasks/"+tk.ID.String()+"/comments", map[string]any{"content": "comment: " + said})
	send(leased.Run.Token, "/api/tasks/"+tk.ID.String()+"/notify", map[string]any{"message": "notice: " + said})
	send(worker.Secret, run+"/finish", held(map[string]any{
		"status":  "completed",
		"summary": "summary: " + said, "artifacts": []string{"zip-" + secret},
	}))

	transcript, err := inst.svc.Transcript(context.Background(), mayaActor, leased.Run.RunID, 0, 100)
	inst.ok(err)
	r, err := inst.svc.Run(ctx, mayaActor, leased.Run.RunID)
	inst.ok(err)
	tk, err = inst.svc.Task(ctx, mayaActor, tk.ID)
	inst.ok(err)
	events, err := inst.svc.Events(ctx, mayaActor, task.EventFilter{Limit: 500})
	inst.ok(err)
	all, err := json.Marshal([]any{transcript, r, tk, events})
	inst.ok(err)
	if s := string(all); strings.Contains(s, "zebra") {
		t.Errorf("the secret was stored: %s", s)
	}
	for _, what := range []string{"text", "tool_call", "tool_result", "log", "error", "permission", "comment", "notice", "summary"} {
		if want := what + ": the login is " + task.Redacted; !strings.Contains(string(all), want) {
			t.Errorf("%q is missing: %s", want, all)
		}
	}
}
