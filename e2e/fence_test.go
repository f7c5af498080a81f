//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/supervise"
	"taskyard/runner/tree"
)

// stayArg makes the test binary a process that keeps running and ignores TERM. The
// following arguments name its run, because its environment is empty.
const stayArg = "__stay"

func init() {
	if len(os.Args) > 1 && os.Args[1] == stayArg {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		time.Sleep(time.Hour)
		os.Exit(0)
	}
}

// hiderScript has children that can be identified only by their arguments: they have
// their own sessions, an empty environment, and ignore TERM. All of them inherit the
// lock of their task: a run that finds it free met no process of an earlier run, and
// prints that.
const hiderScript = `trap '' TERM
exec 9>>"%[1]s.$TASKYARD_TASK_ID"
if flock -n 9; then echo alone; else echo 'not alone'; fi
setsid env -i %[2]q %[3]s "task=$TASKYARD_TASK_ID run=$TASKYARD_RUN_ID instance=$TASKYARD_YARD_ID." </dev/null >/dev/null 2>&1 &
(setsid env -i %[2]q %[3]s "task=$TASKYARD_TASK_ID run=$TASKYARD_RUN_ID instance=$TASKYARD_YARD_ID." </dev/null >/dev/null 2>&1 &)
echo spawned
while [ ! -e "%[1]s" ]; do sleep 0.05; done
echo '{"summary":"the file is there","success":true}'
`

// newHiders returns a crashServer whose agents hide their children.
func newHiders(t *testing.T) *crashServer {
	t.Helper()
	self := testBinary(t)
	goFile := filepath.Join(t.TempDir(), "go")
	return newCrashServerWith(t, goFile, fmt.Sprintf(hiderScript, goFile, self, stayArg))
}

var words = map[string]*regexp.Regexp{
	"task": regexp.MustCompile(`(?:TASKYARD_TASK_ID|\btask)=(\d+)`), "run": regexp.MustCompile(`(?:TASKYARD_RUN_ID|\brun)=(\d+)`),
}

// trees lists the running processes of this instance by task and run, identified by
// their marks or their arguments.
func (s *server) trees() map[string]map[string][]tree.Proc {
	id, _ := os.ReadFile(filepath.Join(s.data, "yard-id"))
	mark := strings.TrimSpace(string(id))
	found := map[string]map[string][]tree.Proc{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		args, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		text := string(env) + "\x00" + string(args)
		if mark == "" || !strings.Contains(text, "TASKYARD_YARD_ID="+mark) && !strings.Contains(text, "instance="+mark+".") {
			continue
		}
		task, run := words["task"].FindStringSubmatch(text), words["run"].FindStringSubmatch(text)
		p, ok := tree.Read(pid)
		if !ok || p.Dead || task == nil || run == nil {
			continue
		}
		if found[task[1]] == nil {
			found[task[1]] = map[string][]tree.Proc{}
		}
		found[task[1]][run[1]] = append(found[task[1]][run[1]], p)
	}
	return found
}

// runProcesses lists the running processes of runs.
func (s *server) runProcesses(runs []string) (list []tree.Proc) {
	for _, byRun := range s.trees() {
		for run, procs := range byRun {
			if slices.Contains(runs, run) {
				list = append(list, procs...)
			}
		}
	}
	return list
}

func TestAfterAKillNoTaskHasTwoRunsAtATime(t *testing.T) {
	t.Parallel()
	c := newHiders(t)
	lost := c.startFive()
	if n := len(c.runProcesses(lost)); n < 5*4 { // shim, script, two hidden children, and usually sleep
		t.Fatalf("got only %d processes", n)
	}
	for round, attempt := range []string{"2", "3"} {
		c.kill()
		begin := time.Now()
		c.start()
		if left := c.runProcesses(lost); len(left) > 0 {
			t.Errorf("round %d: %d processes of the old tree are running when the server serves: %v", round, len(left), left)
		}
		testkit.Eventually(t, "every old run is resolved", func() bool {
			return c.rows("SELECT count(*) FROM runs WHERE ended_at IS NULL AND id IN (" + strings.Join(lost, ",") + ")")[0] == "0"
		})
		took := time.Since(begin)
		t.Logf("round %d: five runs were resolved %v after the start of the next server", round, took.Round(time.Millisecond))
		if took > 30*time.Second {
			t.Errorf("round %d: it took %v, want at most 30 s", round, took)
		}
		c.awaitSpawned("attempt = " + attempt + " AND cause = 'retry'")
		lost = c.rows("SELECT id FROM runs WHERE status = 'running' ORDER BY id")
	}
	c.finish()
	said := c.rows("SELECT content, count(DISTINCT run_id) FROM messages WHERE content LIKE '%alone' GROUP BY 1")
	if len(said) != 1 || said[0] != "alone|15" {
		t.Errorf("got %v, want that all 15 runs met no other run of their task", said)
	}
	if got := c.rows("SELECT phase, count(*) FROM runs WHERE status = 'failed' GROUP BY 1"); len(got) != 1 || got[0] != "lost|10" {
		t.Errorf("got failed runs %v, want ten lost ones", got)
	}
}

func TestHiddenProcessesEndAfterTheirShimIsKilled(t *testing.T) {
	t.Parallel()
	c := newHiders(t)
	runs := c.startFive()
	for _, pid := range c.shims() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	testkit.Eventually(t, "every old run is resolved", func() bool {
		return c.rows("SELECT count(*) FROM runs WHERE status = 'failed' AND phase = 'crash'")[0] == "5"
	})
	if left := c.runProcesses(runs); len(left) > 0 {
		t.Errorf("%d processes are still running: %v", len(left), left)
	}
	c.kill() // the retries do not matter
}

// shims lists the PIDs of the shims of this server.
func (c *crashServer) shims() (pids []int) {
	for _, p := range c.processes(nil) {
		if pid, args, _ := strings.Cut(p, " "); strings.Contains(args, supervise.ShimArg) {
			n, _ := strconv.Atoi(pid)
			pids = append(pids, n)
		}
	}
	return pids
}
