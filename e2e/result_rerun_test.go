package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// TestAKillDuringARepeatedCheckKeepsTheResult kills the server while a check of a
// result runs again: no process of the check is left, the result and the findings of
// its checks are unchanged, and the same call succeeds afterwards.
func TestAKillDuringARepeatedCheckKeepsTheResult(t *testing.T) {
	t.Parallel()
	srv := newProjectServer(t, changingArg)
	clone := srv.peopleWork()
	const command = "sleep 2.4142135"
	slow := map[string]any{"name": "slow", "run": command, "required": true}
	project := projectBody(srv.repo)
	delete(project, "key")
	project["checks"] = []any{slow}
	call[task.Project](t, srv.person, "PUT", "/api/projects/web", project)
	before := srv.handedIn(clone, "Slow to check", map[string]string{"part.txt": "a part\n"})
	path := "/api/tasks/" + before.TaskID.String()
	found := func() int {
		return len(call[struct{ Checks []task.CheckRun }](t, srv.person, "GET", path+"/checks", nil).Checks)
	}
	runs := found()
	for range 3 {
		answered := make(chan error, 1)
		go func() { answered <- srv.person.Do(t.Context(), "POST", path+"/checks/slow/run", map[string]any{}, nil) }()
		testkit.Eventually(t, "the check runs", func() bool { return countProcesses(t, command) > 0 })
		srv.kill()
		if err := <-answered; err == nil {
			t.Fatal("the check ended before the kill")
		}
		testkit.Eventually(t, "no process of the check is left", func() bool { return countProcesses(t, command) == 0 })
		srv.start()
		after := call[task.Result](t, srv.person, "GET", path+"/results/1", nil)
		if after.Digest != before.Digest || after.State != task.ResultReview || found() != runs {
			t.Fatalf("got the result %+v, checks ran %d times; want %s, %d times", after, found(), before.Digest, runs)
		}
	}
	again := call[task.CheckRun](t, srv.person, "POST", path+"/checks/slow/run", map[string]any{})
	if again.Verdict != task.CheckPassed || found() != runs+1 {
		t.Errorf("run again: got %+v, %d times", again, found())
	}
}

// countProcesses counts the processes with this command line.
func countProcesses(t *testing.T, command string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	testkit.NoError(t, err)
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err == nil && strings.TrimSuffix(strings.ReplaceAll(string(b), "\x00", " "), " ") == command {
			n++
		}
	}
	return n
}
