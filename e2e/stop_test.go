package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// stubborn is an agent that ignores TERM for tasks with odd numbers, and in its children.
const stubborn = `[ $((TASKYARD_TASK_ID %% 2)) = 0 ] || trap '' TERM
(setsid sh -c 'trap "" TERM; sleep 903; sleep 903' >/dev/null 2>&1 &)
nohup sleep 904 >/dev/null 2>&1 &
echo spawned
while [ ! -e "%s" ]; do sleep 0.05; done
echo '{"summary":"the file is there","success":true}'
`

func TestStopEverythingEndsAllProcessesAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	goFile, script := filepath.Join(t.TempDir(), "go"), filepath.Join(t.TempDir(), "agent.sh")
	put(t, script, fmt.Sprintf(stubborn, goFile))
	s.file("taskyard.toml", fmt.Sprintf("[runs]\nmax_parallel = 3\n[runners.script]\nkind "+
		"= \"command\"\ncommand = [\"/bin/sh\", %q]\n", script))
	s.file("agents/worker.md", "---\nname: worker\ndescription: Waits for a file.\ntools: read\nrunner: script\nmax_parallel: 3\n---\nWait.\n")
	s.start()
	person := s.api(s.token("--scope", "operate"))
	create := func() task.Task {
		return call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Wait", "owner": "worker"})
	}
	for range 4 { // three run, one waits
		create()
	}
	testkit.Eventually(t, "three runs with children", func() bool {
		return s.rows("SELECT count(DISTINCT run_id) FROM messages WHERE content = 'spawned'")[0] == "3"
	})

	begin := time.Now()
	out := call[task.Stopped](t, person, "POST", "/api/stop-everything", map[string]string{"reason": "A key leaked."})
	if len(out.Runs) != 3 {
		t.Errorf("got %d stopped runs", len(out.Runs))
	}
	for _, id := range out.Runs {
		got := s.rows("SELECT status, phase, reason FROM runs WHERE id = ?", id.String())[0]
		if !strings.HasPrefix(got, "canceled|by|everything was stopped by ") || !strings.HasSuffix(got, ": A key leaked.") {
			t.Errorf("got run %s as %s", id, got)
		}
	}
	testkit.Eventually(t, "no process is left", func() bool { return len(s.processes(nil)) == 0 })
	took := time.Since(begin)
	t.Logf("the last process ended after %v", took)
	if took > 10*time.Second {
		t.Errorf("it took %v, want at most 10 s", took)
	}

	s.kill()
	s.start()
	refused := create() // its wake queues a run
	var no *client.ResponseError
	if err := person.Do(t.Context(), "POST", "/api/agents/worker/signup", nil, nil); !errors.As(err, &no) ||
		no.Code != string(task.CodePaused) || !strings.Contains(no.Detail, "A key leaked.") {
		t.Errorf("for a signup after the restart, got %v", err)
	}
	if err := person.Do(t.Context(), "POST", "/api/tasks/"+refused.ID.String()+"/run", nil, nil); err == nil {
		t.Error("a manual run was created")
	}
	if code := s.term(); code != exitOK {
		t.Errorf("got exit code %d", code)
	}
	s.start()
	if got := s.rows("SELECT count(*) FROM runs WHERE status = 'pending' AND phase = 'queued' AND lease = 0")[0]; got != "2" {
		t.Errorf("got %s queued runs, want the one that waited and that of the wake", got)
	}

	put(t, goFile, "")
	call[map[string]any](t, person, "POST", "/api/resume", map[string]string{"reason": "A new key is in place."})
	testkit.Eventually(t, "the queued runs complete", func() bool {
		return s.rows("SELECT count(*) FROM runs WHERE status = 'completed'")[0] == "2"
	})
	if got := s.rows("SELECT count(*) FROM runs WHERE started_at IS NOT NULL AND started_at >= (SELECT at FROM events " +
		"WHERE kind = 'yard.paused') AND started_at < (SELECT at FROM events WHERE kind = 'yard.resumed')")[0]; got != "0" {
		t.Errorf("got %s runs started during the pause", got)
	}
}
