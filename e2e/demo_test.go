package e2e

import (
	"slices"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// demoServer reads a running demo as an admin.
type demoServer struct {
	*server
	api *client.Client
}

// on returns the same server for a subtest.
func (d *demoServer) on(t *testing.T) *demoServer {
	s := *d.server
	s.t = t
	return &demoServer{server: &s, api: d.api}
}

func (d *demoServer) open() []*task.Task {
	return call[struct{ Tasks []*task.Task }](d.t, d.api, "GET", "/api/tasks", nil).Tasks
}

func (d *demoServer) history() []*task.Task {
	return call[struct{ Tasks []*task.Task }](d.t, d.api, "GET", "/api/tasks/history", nil).Tasks
}

func (d *demoServer) task(id task.ID) *task.Task {
	tk := call[task.Task](d.t, d.api, "GET", "/api/tasks/"+id.String(), nil)
	return &tk
}

func (d *demoServer) waiting() []*task.Run {
	list := call[struct{ Runs []*task.Run }](d.t, d.api, "GET", "/api/runs?status=pending", nil).Runs
	return slices.DeleteFunc(list, func(r *task.Run) bool { return r.Phase != task.PhaseApproval })
}

func (d *demoServer) titled(title string) *task.Task {
	for _, tk := range append(d.open(), d.history()...) {
		if tk.Title == title {
			return d.task(tk.ID)
		}
	}
	return nil
}

// completes waits until a task is done.
func (d *demoServer) completes(id task.ID) {
	d.t.Helper()
	testkit.Eventually(d.t, "task "+id.String()+" completes", func() bool { return d.task(id).Status == task.Done })
}

func TestDemo(t *testing.T) {
	t.Parallel()
	s := newServer(t, "demo", "--fast")
	s.start()
	d := &demoServer{server: s, api: s.api(s.token("--scope", "admin"))}

	begin := time.Now()
	testkit.Eventually(t, "one run waits for approval, one question is open, one task was handed over, one is done", func() bool {
		asked := slices.ContainsFunc(d.open(), func(tk *task.Task) bool { return tk.WaitingFor == task.WaitsUser })
		moved := d.titled("Write the backup guide")
		return len(d.waiting()) == 1 && asked && moved != nil && moved.Owner == "reviewer" && len(d.history()) >= 1
	})
	t.Logf("the demo is complete after %v", time.Since(begin).Round(time.Millisecond))

	t.Run("the hand-over is in the thread", func(t *testing.T) {
		tk := d.titled("Write the backup guide")
		if !slices.ContainsFunc(tk.Comments, func(c task.Comment) bool { return c.Kind == task.KindHandoff && c.Author == "builder" }) {
			t.Errorf("no hand-over by the builder in %s", asJSON(tk.Comments))
		}
	})
	t.Run("an approved run completes the subtask, and then its parent", func(t *testing.T) {
		d := d.on(t)
		run := d.waiting()[0]
		sub := d.task(run.TaskID)
		parent := d.titled("Ship the release notes")
		if sub.ParentTaskID != parent.ID || sub.Owner != "builder" || sub.CreatedBy != "planner" {
			t.Fatalf("%s waits, not a subtask of the planner's task", asJSON(sub))
		}
		call[task.Run](t, d.api, "POST", "/api/runs/"+run.ID.String()+"/approve", map[string]any{"version": run.Approval.Version})
		d.completes(sub.ID)
		d.completes(parent.ID)
	})
	t.Run("a reply lets the reviewer finish", func(t *testing.T) {
		d := d.on(t)
		tk := d.titled("Review the retry policy")
		if tk.WaitingFor != task.WaitsUser {
			t.Fatalf("task waits for %q", tk.WaitingFor)
		}
		call[any](t, d.api, "POST", "/api/tasks/"+tk.ID.String()+"/reply", map[string]any{"content": "Five are fine."})
		d.completes(tk.ID)
		if got := d.task(tk.ID).Summary; got != "Retry policy reviewed. Decision by a person: Five are fine." {
			t.Errorf("summary %q", got)
		}
	})
	t.Run("in the end only what nobody may start is open, and no run failed", func(t *testing.T) {
		d := d.on(t)
		testkit.Eventually(t, "two tasks are left and nothing runs", func() bool {
			return len(d.open()) == 2 && d.rows("SELECT count(*) FROM runs WHERE ended_at IS NULL")[0] == "0"
		})
		for _, tk := range d.open() {
			if tk.Status != task.Draft && tk.Owner != "general-purpose" {
				t.Errorf("task %d (%s) is still open", tk.ID, tk.Title)
			}
		}
		for _, r := range call[struct{ Runs []*task.Run }](t, d.api, "GET", "/api/runs", nil).Runs {
			if r.Status != task.RunCompleted {
				t.Errorf("run %d of task %d is %s: %s", r.ID, r.TaskID, r.State(), r.Reason)
			}
		}
	})
	before := len(d.history())
	if code := s.term(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	s.start()
	if got := len(d.history()); got != before {
		t.Errorf("%d tasks in history after a restart, %d before", got, before)
	}
}
