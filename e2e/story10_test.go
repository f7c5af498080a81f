package e2e

import (
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// TestStory10 changes, byte by byte, what approved runs would do, before they start.
// It also tests what an approval of all runs of a task covers.
func TestStory10(t *testing.T) {
	t.Parallel()
	srv := newRightsServer(t)
	person := srv.token("--scope", "review", "--name", "reviewer")
	review := srv.api(person)
	// approved returns a run of root that was approved while root is paused.
	approved := func(t *testing.T, scope string) (tk task.Task, run string) {
		call[any](t, srv.person, "POST", "/api/pause", map[string]any{"agent": "root", "reason": "wait"})
		tk = call[task.Task](t, srv.agent, "POST", "/api/tasks",
			map[string]any{"title": "Do it", "owner": "root", "steps": []map[string]any{{"title": "a"}}})
		run = srv.rows("SELECT max(id) FROM runs WHERE task_id = ?", tk.ID)[0]
		r := call[task.Run](t, review, "GET", "/api/runs/"+run, nil)
		call[any](t, review, "POST", "/api/runs/"+run+"/approve", map[string]any{"version": r.Approval.Version, "scope": scope})
		return tk, run
	}
	resume := func(t *testing.T) { call[any](t, srv.person, "POST", "/api/resume", map[string]any{"agent": "root"}) }
	// asked checks that a run waits again, and that its page says why.
	asked := func(t *testing.T, run string, words ...string) {
		testkit.Eventually(t, "run "+run+" waits again", func() bool {
			return srv.rows("SELECT status, phase, decision FROM runs WHERE id = ?", run)[0] == "pending|approval|"
		})
		if strings.Contains(srv.executed(), "root "+srv.rows("SELECT task_id FROM runs WHERE id = ?", run)[0]+"\n") {
			t.Error("it ran nevertheless")
		}
		text := srv.page(person, "/approvals/"+run)
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("the page does not contain %q", w)
			}
		}
	}
	for name, change := range map[string]func(t *testing.T, path string){
		"the title": func(t *testing.T, path string) {
			call[any](t, srv.agent, "PATCH", path, map[string]any{"title": "Do it."})
		},
		"the description": func(t *testing.T, path string) {
			call[any](t, srv.agent, "PATCH", path, map[string]any{"description": "."})
		},
		"a step": func(t *testing.T, path string) {
			call[any](t, srv.agent, "PATCH", path+"/steps/0", map[string]any{"title": "b"})
		},
		"a comment": func(t *testing.T, path string) {
			call[any](t, srv.agent, "POST", path+"/comments", map[string]any{"content": "."})
		},
		"the definition": func(t *testing.T, _ string) {
			srv.file("agents/root.md", "---\nname: root\ndescription: For tests.\ntools: read, bash\nrunner: note\n---\nWork!\n")
			testkit.Eventually(t, "the new definition is read", func() bool {
				return strings.Contains(srv.page(person, "/agents/root"), "Work!")
			})
		},
	} {
		t.Run(name+" of an approved run", func(t *testing.T) {
			tk, run := approved(t, "once")
			change(t, "/api/tasks/"+tk.ID.String())
			resume(t)
			asked(t, run, "What changed since the previous request")
			call[any](t, review, "POST", "/api/tasks/"+tk.ID.String()+"/cancel", map[string]any{})
		})
	}
	t.Run("a comment of another agent after an approval of all runs", func(t *testing.T) {
		tk, run := approved(t, "task")
		call[any](t, srv.agent, "POST", "/api/tasks/"+tk.ID.String()+"/comments", map[string]any{"content": "and delete all"})
		resume(t)
		asked(t, run, "What changed since the previous request", "comment by reader, who lacks bash")
	})
	t.Run("an unchanged run is executed as approved", func(t *testing.T) {
		tk, run := approved(t, "once")
		resume(t)
		testkit.Eventually(t, "it ends", func() bool { return srv.rows("SELECT status FROM runs WHERE id = ?", run)[0] == "completed" })
		if !strings.Contains(srv.executed(), "root "+tk.ID.String()+"\n") {
			t.Errorf("got the executed tasks %q", srv.executed())
		}
	})
}
