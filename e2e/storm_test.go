package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// stormScript takes a lock that its children keep too, so that a second run of the
// task, or a child that outlived the first, is noticed.
const stormScript = `exec 9>"%[1]s/lock-$TASKYARD_TASK_ID"
flock -n 9 || echo "run $TASKYARD_RUN_ID met another of task $TASKYARD_TASK_ID" >>"%[1]s/met"
(setsid sleep 0.$(( $TASKYARD_RUN_ID %% 7 )) >/dev/null 2>&1 &)
sleep 0.$(( $TASKYARD_RUN_ID %% 5 ))
echo '{"summary":"through","success":true}'
`

func TestNoTaskRunsTwiceAtATimeUnderKill(t *testing.T) {
	t.Parallel()
	kills := 3
	if testkit.Whole() {
		kills = max(5, testkit.Trials())
	}
	s, notes := newServer(t, "serve"), t.TempDir()
	script := put(t, filepath.Join(notes, "agent.sh"), fmt.Sprintf(stormScript, notes))
	s.file("taskyard.toml", fmt.Sprintf("[runs]\nmax_parallel = 6\nattempts = 10\n[runners.script]\nkind "+
		"= \"command\"\ncommand = [\"/bin/sh\", %q]\n", script))
	s.file("agents/worker.md", "---\nname: worker\ndescription: Works a moment.\ntools: read\nrunner: script\nmax_parallel: 6\n---\nWork.\n")
	s.start()
	person := s.api(s.token("--scope", "operate"))
	tasks := 0
	for i := range kills {
		for range 6 {
			call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Work a moment", "owner": "worker"})
			tasks++
		}
		<-time.After(time.Duration(rand.IntN(300)) * time.Millisecond) // at any moment of the runs
		before := s.rows("SELECT id, lease FROM runs WHERE status = 'running'")
		if i%3 == 2 {
			if code := s.term(); code != exitOK {
				t.Errorf("got exit code %d", code)
			}
			s.wantNoProcesses("after the stop", nil)
		} else {
			s.kill()
		}
		s.start()
		for _, run := range s.rows("SELECT id, lease FROM runs WHERE status = 'running'") {
			if slices.Contains(before, run) {
				t.Errorf("run %s is still marked as running", strings.ReplaceAll(run, "|", " under lease "))
			}
		}
	}
	testkit.EventuallyWithin(t, max(patience, time.Duration(kills)*2*time.Second), "all runs end", func() bool {
		return s.rows("SELECT count(*) FROM runs WHERE ended_at IS NULL AND not_before <= (unixepoch() + 1) * 1000")[0] == "0"
	})
	if met, err := os.ReadFile(filepath.Join(notes, "met")); err == nil {
		t.Errorf("two runs at the same time:\n%s", met)
	}
	if got := s.rows("SELECT count(*) FROM tasks")[0]; got != fmt.Sprint(tasks) {
		t.Errorf("got %s tasks, want %d as acknowledged", got, tasks)
	}
	for _, row := range s.rows("SELECT id, task_id, phase, reason FROM runs WHERE status = 'failed' AND phase <> 'lost'") {
		t.Errorf("a run failed for a reason other than the kills: %s", row)
	}
	unfinished := s.rows("SELECT t.id FROM tasks t WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.task_id = t.id AND r.status = 'completed')")
	if len(unfinished) > 0 {
		t.Errorf("tasks without a completed run: %v", unfinished)
	}
	t.Logf("%d tasks, runs by state: %v", tasks, s.rows("SELECT status, phase, count(*) FROM runs GROUP BY 1, 2"))
	s.wantNoProcesses("at the end", nil)
}
