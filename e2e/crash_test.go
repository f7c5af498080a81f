package e2e

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// crashServer is a server with an agent that Taskyard starts: a script with
// children in other sessions, which waits until the file go exists.
type crashServer struct {
	*server
	goFile string
	person *client.Client
}

const crashScript = `echo started
(setsid sh -c 'sleep 900' >/dev/null 2>&1 &)
nohup sleep 901 >/dev/null 2>&1 &
sh -c 'sleep 902 & wait' &
echo spawned
while [ ! -e "%s" ]; do sleep 0.05; done
echo '{"summary":"the file is there","success":true}'
`

func newCrashServer(t *testing.T) *crashServer {
	t.Helper()
	goFile := filepath.Join(t.TempDir(), "go")
	return newCrashServerWith(t, goFile, fmt.Sprintf(crashScript, goFile))
}

// newCrashServerWith returns a crashServer with another script.
func newCrashServerWith(t *testing.T, goFile, text string) *crashServer {
	t.Helper()
	c := &crashServer{server: newServer(t, "serve"), goFile: goFile}
	script := put(t, filepath.Join(t.TempDir(), "agent.sh"), text)
	c.file("taskyard.toml", fmt.Sprintf("[runs]\nmax_parallel = 5\n[runners.script]\nkind "+
		"= \"command\"\ncommand = [\"/bin/sh\", %q]\n", script))
	c.file("agents/worker.md", "---\nname: worker\ndescription: Waits for a file.\ntools: read\nrunner: script\nmax_parallel: 5\n---\nWait.\n")
	c.start()
	c.person = c.api(c.token("--scope", "operate"))
	return c
}

// startFive creates five tasks and returns their runs when all five have spawned their
// children.
func (c *crashServer) startFive() (runs []string) {
	c.t.Helper()
	for i := range 5 {
		call[task.Task](c.t, c.person, "POST", "/api/tasks", map[string]any{"title": "Wait " + strconv.Itoa(i), "owner": "worker"})
	}
	c.awaitSpawned("lease = 1")
	return c.rows("SELECT id FROM runs WHERE status = 'running' ORDER BY id")
}

// awaitSpawned waits for five running runs that meet a condition and have reported
// their children since they started.
func (c *crashServer) awaitSpawned(cond string) {
	c.t.Helper()
	testkit.Eventually(c.t, "five runs with children where "+cond, func() bool {
		n := c.rows(`SELECT count(*) FROM runs r WHERE status = 'running' AND phase = 'working' AND ` + cond + `
 AND EXISTS (SELECT 1 FROM messages m WHERE m.run_id = r.id AND m.content = 'spawned' AND m.created_at >= r.started_at)`)
		return n[0] == "5"
	})
}

// finish lets the agents end and waits until every task's last run completed.
func (c *crashServer) finish() {
	c.t.Helper()
	put(c.t, c.goFile, "")
	testkit.Eventually(c.t, "all runs end", func() bool {
		return c.rows("SELECT count(*) FROM runs WHERE status IN ('pending', 'running')")[0] == "0"
	})
	want := "5"
	if got := c.rows("SELECT count(DISTINCT task_id) FROM runs WHERE status = 'completed'")[0]; got != want {
		c.t.Errorf("got %s tasks with a completed run, want %s", got, want)
	}
	c.wantNoProcesses("after the runs ended", nil)
}

func TestAKilledServerLeavesNoRunBehind(t *testing.T) {
	t.Parallel()
	c := newCrashServer(t)
	lost := c.startFive()
	if n := len(c.processes(lost)); n < 5*4 {
		t.Fatalf("got only %d processes before the crash", n)
	}
	c.kill()
	begin := time.Now()
	c.start()
	strays := c.processes(lost)
	c.awaitSpawned("attempt = 2 AND cause = 'retry' AND retry_of IS NOT NULL")
	took := time.Since(begin)

	t.Run("no process of the lost runs is running once the server serves", func(t *testing.T) {
		if len(strays) > 0 {
			t.Errorf("%d processes are still running: %v", len(strays), strays)
		}
	})
	t.Run("every lost run is marked lost", func(t *testing.T) {
		for _, id := range lost {
			if got := c.rows("SELECT status, phase, reason FROM runs WHERE id = ?", id)[0]; got != "failed|lost|the server ended while it ran" {
				t.Errorf("got run %s as %s", id, got)
			}
		}
	})
	t.Run("each task is dispatched again within 30 s, and the attempt is counted", func(t *testing.T) {
		if took > 30*time.Second {
			t.Errorf("it took %v", took)
		}
		if got := c.rows("SELECT DISTINCT failures FROM tasks"); len(got) != 1 || got[0] != "1" {
			t.Errorf("got failures %v, want 1 each", got)
		}
	})
	t.Run("each running run has one process tree, one per task", func(t *testing.T) {
		running := c.rows("SELECT id FROM runs WHERE status = 'running'")
		if len(running) != 5 {
			t.Errorf("got %d running runs", len(running))
		}
		for _, id := range running {
			if len(c.processes([]string{id})) == 0 {
				t.Errorf("run %s has no process", id)
			}
		}
	})
	t.Run("the transcript of a lost run is kept", func(t *testing.T) {
		for _, id := range lost {
			if got := strings.Join(c.rows("SELECT content FROM messages WHERE run_id = ? AND type = 'text' ORDER BY id", id),
				" "); got != "started spawned" {
				t.Errorf("got the transcript of run %s %q", id, got)
			}
		}
	})
	c.finish()
	if got := c.rows("SELECT DISTINCT failures FROM tasks"); len(got) != 1 || got[0] != "0" {
		t.Errorf("got failures %v after the retries completed", got)
	}
}

func TestAStoppedServerRequeuesItsRuns(t *testing.T) {
	t.Parallel()
	c := newCrashServer(t)
	cut := c.startFive()
	if code := c.term(); code != exitOK {
		t.Errorf("got exit code %d", code)
	}
	c.wantNoProcesses("after the stop", nil)
	for _, id := range cut {
		if got := c.rows("SELECT status, phase, attempt FROM runs WHERE id = ?", id)[0]; got != "pending|queued|1" {
			t.Errorf("got run %s as %s, want it in the queue without a counted attempt", id, got)
		}
	}
	if got := c.rows("SELECT count(*) FROM tasks WHERE failures > 0 OR claim_holder IS NOT NULL")[0]; got != "0" {
		t.Errorf("%s tasks have a failure or a claim", got)
	}
	if got := c.rows("SELECT count(*) FROM tokens WHERE run_id IS NOT NULL AND revoked_at IS NULL")[0]; got != "0" {
		t.Errorf("%s tokens outlived their runs", got)
	}
	c.start()
	c.awaitSpawned("lease = 2 AND attempt = 1")
	c.finish()
}

func TestASecondServerIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	s.start()
	begin := time.Now()
	_, errs, code := s.command("", "serve", "--listen", "127.0.0.1:0")
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("the refusal took %v", took)
	}
	if code != exitRefused || !strings.Contains(errs, fmt.Sprintf("process %d", s.cmd.Process.Pid)) {
		t.Errorf("got exit code %d, %q; want 1 and the PID %d", code, errs, s.cmd.Process.Pid)
	}
	if status := requestStatus(t, s.url()+"/healthz", ""); status != http.StatusOK {
		t.Errorf("got status %d from the first server afterwards", status)
	}
}

// A child of a killed server that has not yet executed its program holds lock and
// socket for a moment longer.
func TestAServerWaitsForTheRemainsOfAKilledOne(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	dead := exec.CommandContext(t.Context(), "true")
	testkit.NoError(t, dead.Run())
	s.file("taskyard.db.lock", fmt.Sprintln(dead.Process.Pid))
	lock, err := os.Open(filepath.Join(s.data, "taskyard.db.lock"))
	testkit.NoError(t, err)
	testkit.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", s.address)
	testkit.NoError(t, err)
	time.AfterFunc(200*time.Millisecond, func() { _ = lock.Close() })
	time.AfterFunc(400*time.Millisecond, func() { _ = socket.Close() })
	s.start()
	if got := s.rows("PRAGMA user_version"); len(got) != 1 {
		t.Errorf("got %v from the database", got)
	}
}

func TestAnAddressInUseIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", s.address)
	testkit.NoError(t, err)
	defer socket.Close()
	if _, errs, code := s.command("", "serve", "--listen", s.address); code != exitRefused ||
		!strings.Contains(errs, "is in use by another program") {
		t.Errorf("got exit code %d, %q", code, errs)
	}
}

func TestADeletedDatabaseIsNoticed(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	s.start()
	token := s.token("--scope", "admin")
	api := s.api(token)
	made := call[task.Task](t, api, "POST", "/api/tasks", map[string]any{"title": "Here", "owner": "general-purpose"})
	testkit.NoError(t, os.Remove(filepath.Join(s.data, "taskyard.db")))
	refused := func(method, path string, in any) bool {
		var r *client.ResponseError
		err := api.Do(t.Context(), method, path, in, nil)
		return errors.As(err, &r) && r.Status == http.StatusServiceUnavailable
	}
	testkit.Eventually(t, "writes are refused", func() bool {
		return refused("POST", "/api/tasks", map[string]any{"title": "Lost", "owner": "general-purpose"})
	})
	if got := call[task.Task](t, api, "GET", "/api/tasks/"+made.ID.String(), nil); got.Title != "Here" {
		t.Errorf("for a read, got %q", got.Title)
	}
	if code := s.term(); code != exitOK {
		t.Errorf("got exit code %d", code)
	}
}

func TestStartAndIdleMemory(t *testing.T) {
	s := newServer(t, "serve")
	s.env = append(s.env, testkit.DefaultGC)
	binary(t)
	begin := time.Now()
	s.start()
	if status := requestStatus(t, s.url()+"/healthz", ""); status != http.StatusOK {
		t.Fatalf("got status %d from /healthz", status)
	}
	t.Logf("start on an empty folder until /healthz answers: %v (goal 300ms)", time.Since(begin).Round(time.Millisecond))
	token := s.token("--scope", "admin")
	for range 50 {
		call[task.Task](t, s.api(token), "POST", "/api/tasks", map[string]any{"title": "One", "owner": "general-purpose"})
	}
	t.Logf("resident memory of the idle server: %d MiB (goal 60)", memoryKiB(t, s.cmd.Process.Pid, "VmRSS:")/1024)
}

// memoryKiB reads a line of /proc/PID/status.
func memoryKiB(t testing.TB, pid int, line string) int {
	t.Helper()
	_, rest, _ := strings.Cut(read(t, fmt.Sprintf("/proc/%d/status", pid)), line)
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	testkit.NoError(t, err)
	return n
}
