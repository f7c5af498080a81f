package e2e

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
	"taskyard/task"
)

// lingering is an agent that completes its task and keeps running, with a child that
// ignores TERM.
const lingering = `(setsid sh -c 'trap "" TERM; sleep 906; sleep 906' >/dev/null 2>&1 &)
"%s" task complete --summary "All of it."
trap '' TERM
while :; do echo still here; sleep 1; done
`

// TestARunEndsItsProgramAfterItsTaskIsCompleted has the program keep running
// instead of exiting.
func TestARunEndsItsProgramAfterItsTaskIsCompleted(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, s *server, id task.ID, programs func() int) {
		t.Helper()
		var done time.Time
		testkit.Eventually(t, "the agent completes its task", func() bool {
			done = time.Now()
			return s.rows("SELECT status FROM tasks WHERE id = ?", id.String())[0] == "done"
		})
		testkit.Eventually(t, "the run ends", func() bool {
			return s.rows("SELECT ended_at IS NOT NULL FROM runs WHERE task_id = ?", id.String())[0] == "1"
		})
		testkit.Eventually(t, "its programs have ended", func() bool { return programs() == 0 })
		if took := time.Since(done); took > 10*time.Second {
			t.Errorf("it took %v, want at most 10 s", took)
		}
		if got := s.rows("SELECT status, phase, summary, reason FROM runs WHERE task_id = ?", id.String()); len(got) != 1 ||
			got[0] != "completed|ended|All of it.|" {
			t.Errorf("got the runs %v", got)
		}
	}
	t.Run("on the server", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, "serve")
		script := put(t, filepath.Join(t.TempDir(), "agent.sh"), fmt.Sprintf(lingering, binary(t)))
		s.file("taskyard.toml", fmt.Sprintf("[runners.script]\nkind = \"command\"\ncommand = [\"/bin/sh\", %q]\n", script))
		s.file("agents/coder.md", "---\nname: coder\ndescription: For tests.\ntools: read\nrunner: script\n---\nWork.\n")
		s.start()
		tk := call[task.Task](t, s.api(s.token("--scope", "operate")), "POST", "/api/tasks", map[string]any{"title": "Do it", "owner": "coder"})
		check(t, s, tk.ID, func() int { return len(s.processes(nil)) })
	})
	t.Run("on the server, as codex", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, "serve")
		script := filepath.Join(t.TempDir(), "codex.sh")
		begin := "cat >/dev/null\necho '{\"type\":\"thread.started\",\"thread_id\":\"01a1\"}'\necho '{\"type\":\"turn.started\"}'\n"
		put(t, script, fmt.Sprintf(begin+lingering, binary(t)))
		s.file("taskyard.toml", fmt.Sprintf("[runners.script]\nkind = \"codex\"\naccept_weaker = true\ncommand = [\"/bin/sh\", %q]\n", script))
		s.file("agents/coder.md", "---\nname: coder\ndescription: For tests.\ntools: read, list, grep\nrunner: script\n---\nWork.\n")
		s.start()
		tk := call[task.Task](t, s.api(s.token("--scope", "operate")), "POST", "/api/tasks", map[string]any{"title": "Do it", "owner": "coder"})
		check(t, s, tk.ID, func() int { return len(s.processes(nil)) })
	})
	t.Run("on the server, as the built-in agent", func(t *testing.T) {
		t.Parallel()
		var asked atomic.Int64
		m := modeltest.NewFunc(t, func(r modeltest.Request) modeltest.Step {
			if n := asked.Add(1); n > 1 {
				return oneCall("list", `{"path":"folder-%d"}`, n) // endlessly
			}
			return oneCall("complete_task", `{"taskId":%q,"summary":"All of it."}`, promptTask(r))
		})
		s, person := newBuiltinServer(t, "openai", m)
		tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Do it", "owner": "coder"})
		check(t, s, tk.ID, func() int { return int(asked.Load()) - 1 }) // the model gets no other request
	})
	t.Run("on a worker", func(t *testing.T) {
		t.Parallel()
		srv := newWorkerServer(t)
		put(t, srv.script, fmt.Sprintf(lingering, binary(t)))
		srv.work("--labels", "gpu")
		tk := srv.create()
		check(t, srv.server, tk.ID, srv.programs)
	})
}
