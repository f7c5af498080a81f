package e2e

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/internal/testkit/testgit"
	"taskyard/task"
)

// demoServer is a client of a running demo, as an admin.
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
	home := t.TempDir() // of a person whose Git has no identity
	put(t, filepath.Join(home, ".gitconfig"), "[user]\n\tuseConfigOnly = true\n")
	s.env = append(s.env, "HOME="+home, "XDG_CONFIG_HOME="+home)
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
			t.Errorf("there is no hand-over by the builder in %s", asJSON(tk.Comments))
		}
	})
	t.Run("an approved run completes the subtask, and then its parent", func(t *testing.T) {
		d := d.on(t)
		run := d.waiting()[0]
		sub := d.task(run.TaskID)
		parent := d.titled("Ship the release notes")
		if sub.ParentTaskID != parent.ID || sub.Owner != "builder" || sub.CreatedBy != "planner" {
			t.Fatalf("%s is waiting, want a subtask of the planner's task", asJSON(sub))
		}
		call[task.Run](t, d.api, "POST", "/api/runs/"+run.ID.String()+"/approve", map[string]any{"version": run.Approval.Version})
		d.completes(sub.ID)
		d.completes(parent.ID)
	})
	t.Run("a reply lets the reviewer finish", func(t *testing.T) {
		d := d.on(t)
		tk := d.titled("Review the retry policy")
		if tk.WaitingFor != task.WaitsUser {
			t.Fatalf("the task is waiting for %q", tk.WaitingFor)
		}
		call[any](t, d.api, "POST", "/api/tasks/"+tk.ID.String()+"/reply", map[string]any{"content": "Five are fine."})
		d.completes(tk.ID)
		if got := d.task(tk.ID).Summary; got != "Retry policy reviewed. Decision by a person: Five are fine." {
			t.Errorf("got summary %q", got)
		}
	})
	t.Run("a change is reviewed, changed and merged", func(t *testing.T) {
		d := d.on(t)
		b := newBrowser(t)
		if status, to := b.send(s.first, s.url()+"/login/link", nil); status != http.StatusSeeOther {
			t.Fatalf("for the sign-in, got status %d and location %q", status, to)
		}
		me := d.server.api(d.ownToken(b))
		var tk *task.Task
		inReview := func(number int) func() bool {
			return func() bool {
				tk = d.titled("Put the opening hours on the site")
				return tk.WaitingFor == task.WaitsReview && tk.Review.Result == number
			}
		}
		testkit.Eventually(t, "the first result is in review", inReview(1))
		path := "/api/tasks/" + tk.ID.String()
		if len(call[struct{ Checks []task.CheckRun }](t, d.api, "GET", path+"/checks", nil).Checks) != 2 {
			t.Error("the check did not run twice")
		}
		call[task.ReviewComment](t, me, "POST", path+"/review-comments",
			map[string]any{"path": "hours.txt", "line": 5, "text": "And on holidays?"})
		first := call[task.Result](t, me, "GET", path+"/results/1", nil)
		call[task.Task](t, me, "POST", path+"/results/1/request-changes", map[string]any{"digest": first.Digest})
		testkit.Eventually(t, "the second result is in review", inReview(2))
		second := call[task.Result](t, me, "GET", path+"/results/2", nil)
		call[task.Task](t, me, "POST", path+"/results/2/accept", map[string]any{"digest": second.Digest})
		d.completes(tk.ID)
		if got := testkit.Git(t, s.data+"-site", "show", "main:hours.txt"); !strings.Contains(got, "And on holidays?") {
			t.Errorf("main contains %q", got)
		}
	})
	t.Run("in the end, only tasks that cannot start are open, and no run failed", func(t *testing.T) {
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
		t.Fatalf("got exit code %d", code)
	}
	s.start()
	if got := len(d.history()); got != before {
		t.Errorf("got %d tasks in history after a restart, want %d", got, before)
	}
}

// Without a temporary directory there is no repository, and the demo says why.
func TestTheDemoNeedsNoTemporaryDirectory(t *testing.T) {
	t.Parallel()
	s := newServer(t, "demo", "--fast")
	s.env = append(s.env, "TMPDIR="+filepath.Join(t.TempDir(), "absent"))
	s.start()
	d := &demoServer{server: s, api: s.api(s.token("--scope", "admin"))}
	testkit.Eventually(t, "a task is done", func() bool { return len(d.history()) > 0 })
	log := s.log.String()
	if !strings.Contains(log, "set TMPDIR") || !strings.Contains(log, "the demo has no project") {
		t.Errorf("got the log %s", log)
	}
	repository := testgit.New(t, map[string]string{"a.txt": "x"})
	err := d.api.Do(t.Context(), "POST", "/api/projects", map[string]any{"key": "x", "name": "X", "repository": repository.Dir}, nil)
	if err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("for a project with a repository, got %v", err)
	}
}
