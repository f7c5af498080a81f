package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// workerServer is a server whose agent far is executed by workers with the label gpu,
// and what its tests share.
type workerServer struct {
	*server
	person *client.Client
	secret string // token of the workers
	goFile string // the agents wait for it
	script string
}

const farAgent = `(setsid sh -c 'sleep 905; sleep 905' >/dev/null 2>&1 &)
echo "prompt of $TASKYARD_TASK_ID: $(head -c 20)"
echo '{"type":"tool_call","text":"look","data":{"path":"a"}}'
while [ ! -e "%s" ]; do sleep 0.05; done
echo '{"summary":"far away","success":true,"artifacts":["a.md"]}'
`

func newWorkerServer(t *testing.T) *workerServer {
	t.Helper()
	s := newServer(t, "serve")
	srv := &workerServer{server: s, goFile: filepath.Join(t.TempDir(), "go"), script: filepath.Join(t.TempDir(), "agent.sh")}
	put(t, srv.script, fmt.Sprintf(farAgent, srv.goFile))
	s.file("taskyard.toml", "[runners.far]\nkind = \"worker\"\nlabels = [\"gpu\"]\n")
	s.file("agents/far.md", "---\nname: far\ndescription: Works elsewhere.\ntools: read\nrunner: far\nmax_parallel: 3\n---\nWork.\n")
	s.start()
	srv.person, srv.secret = s.api(s.token("--scope", "operate")), s.token("--scope", "worker", "--name", "machines")
	return srv
}

// work starts a worker. End it with SIGKILL or another signal.
func (srv *workerServer) work(args ...string) *exec.Cmd {
	srv.t.Helper()
	args = append([]string{
		"worker", "--url", srv.url(), "--dir", filepath.Join(srv.t.TempDir(), "w"), "--exec", "/bin/sh " + srv.script,
	}, args...)
	cmd := exec.CommandContext(context.WithoutCancel(srv.t.Context()), binary(srv.t), args...)
	cmd.Env = append(os.Environ(), "TASKYARD_TOKEN="+srv.secret)
	srv.t.Cleanup(func() { // once the worker has ended
		testkit.Eventually(srv.t, "no program of the agent is left", func() bool { return srv.programs() == 0 })
	})
	startBeside(srv.t, cmd)
	return cmd
}

// programs counts the processes of the agent and their children.
func (srv *workerServer) programs() int { return countWorkerPrograms(srv.url()) }

// countWorkerPrograms counts the programs of workers that use the server at an
// address.
func countWorkerPrograms(url string) (n int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && strings.Contains(string(env), "TASKYARD_YARD_ID=worker-") && strings.Contains(string(env), "TASKYARD_URL="+url+"\x00") {
			n++
		}
	}
	return n
}

func (srv *workerServer) create() task.Task {
	return call[task.Task](srv.t, srv.person, "POST", "/api/tasks", map[string]any{"title": "Do it there", "owner": "far"})
}

// runs returns "status|phase|attempt|lease" of the runs of a task.
func (srv *workerServer) runs(id task.ID) []string {
	return srv.rows("SELECT status, phase, attempt, lease FROM runs WHERE task_id = ? ORDER BY id", id.String())
}

func (srv *workerServer) await(id task.ID, want ...string) {
	srv.t.Helper()
	testkit.Eventually(srv.t, fmt.Sprintf("the runs of task %d are %v", id, want), func() bool {
		return strings.Join(srv.runs(id), " ") == strings.Join(want, " ")
	})
}

func (srv *workerServer) release() {
	put(srv.t, srv.goFile, "")
}

func (srv *workerServer) why(id task.ID) string {
	out := call[map[string]any](srv.t, srv.person, "GET", "/api/tasks/"+id.String()+"/why", nil)
	return fmt.Sprint(out)
}

func TestAWorkerExecutesRuns(t *testing.T) {
	t.Parallel()
	srv := newWorkerServer(t)
	tk := srv.create()
	testkit.Eventually(t, "the reasons say that there is no worker", func() bool {
		return strings.Contains(srv.why(tk.ID), "no worker for the runner far with the labels gpu has asked since the server started")
	})
	srv.work("--labels", "linux")
	two := []*exec.Cmd{srv.work("--labels", "linux,gpu"), srv.work("--labels", "gpu")}
	srv.await(tk.ID, "running|working|1|1")
	if n := srv.rows("SELECT count(*) FROM events WHERE kind = 'run.started' AND changes LIKE '%worker:machines%'")[0]; n != "1" {
		t.Errorf("got %s starts of the run by a worker", n)
	}
	srv.release()
	srv.await(tk.ID, "completed|ended|1|1")
	if got := srv.rows("SELECT summary, artifacts FROM runs")[0]; got != `far away|["a.md"]` {
		t.Errorf("got the result %s", got)
	}
	got := strings.Join(srv.rows("SELECT type || '/' || content FROM messages WHERE run_id IS NOT NULL AND type <> 'prompt' ORDER BY id"), " ")
	if !strings.Contains(got, "text/prompt of "+tk.ID.String()+": Work.") || !strings.Contains(got, "tool_call/look") {
		t.Errorf("got the transcript %s", got)
	}
	if n := srv.rows("SELECT count(*) FROM messages WHERE instr(content, 'ty_') > 0")[0]; n != "0" {
		t.Error("a token is in the transcript")
	}
	for _, cmd := range two {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("a worker that was asked to stop: got %v", err)
		}
	}
}

func TestCancelStopsTheProgramsOfAWorker(t *testing.T) {
	t.Parallel()
	srv := newWorkerServer(t)
	srv.work("--labels", "gpu")
	tk := srv.create()
	testkit.Eventually(t, "the agent and its child run", func() bool { return srv.programs() >= 3 })
	run := srv.rows("SELECT id FROM runs")[0]
	begin := time.Now()
	call[task.Run](t, srv.person, "POST", "/api/runs/"+run+"/cancel", map[string]string{"reason": "Not now."})
	testkit.Eventually(t, "no program is left", func() bool { return srv.programs() == 0 })
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("it took %v: the heartbeat was not answered immediately", took)
	}
	srv.await(tk.ID, "canceled|by|1|1")
}

func TestAStoppingWorkerReturnsItsRun(t *testing.T) {
	t.Parallel()
	srv := newWorkerServer(t)
	first := srv.work("--labels", "gpu")
	tk := srv.create()
	srv.await(tk.ID, "running|working|1|1")
	_ = first.Process.Signal(syscall.SIGTERM)
	if err := first.Wait(); err != nil {
		t.Errorf("got %v", err)
	}
	srv.await(tk.ID, "pending|queued|1|1")
	srv.release()
	srv.work("--labels", "gpu")
	srv.await(tk.ID, "completed|ended|1|2")
}

func TestARunOfAWorkerSurvivesTheServer(t *testing.T) {
	t.Parallel()
	srv := newWorkerServer(t)
	srv.work("--labels", "gpu")
	tk := srv.create()
	srv.await(tk.ID, "running|working|1|1")
	srv.kill()
	srv.release()
	srv.start()
	srv.await(tk.ID, "completed|ended|1|1")
	if n := srv.rows("SELECT count(*) FROM messages WHERE type = 'tool_call'")[0]; n != "1" {
		t.Errorf("got %s tool calls in the transcript", n)
	}
}

func TestStaleLeasesAreRefused(t *testing.T) {
	t.Parallel()
	srv := newWorkerServer(t)
	tk := srv.create()
	c := srv.api(srv.secret)
	lease := func() *task.Leased {
		return call[struct{ Run *task.Leased }](t, c, "POST", "/api/worker/lease", map[string]any{"labels": []string{"gpu"}}).Run
	}
	old := lease()
	if old == nil || old.TaskID != tk.ID || lease() != nil {
		t.Fatal("want one run leased exactly once")
	}
	say := func(by *client.Client, l *task.Leased, what string, more map[string]any) (int, string) {
		in := map[string]any{"attempt": l.Attempt, "lease": l.Lease}
		maps.Copy(in, more)
		var no *client.ResponseError
		if err := by.Do(t.Context(), http.MethodPost, "/api/worker/runs/"+l.RunID.String()+"/"+what, in, nil); errors.As(err, &no) {
			return no.Status, no.Code
		} else if err != nil {
			t.Fatal(err)
		}
		return 200, ""
	}
	line := func(from int, texts ...string) map[string]any {
		list := []map[string]string{}
		for _, s := range texts {
			list = append(list, map[string]string{"type": "text", "text": s})
		}
		return map[string]any{"from": from, "events": list}
	}
	want := func(what string, status int, code string, wantStatus int, wantCode string) {
		t.Helper()
		if status != wantStatus || code != wantCode {
			t.Errorf("%s: got %d %s, want %d %s", what, status, code, wantStatus, wantCode)
		}
	}
	check := func(what string, wantStatus int, wantCode string, by *client.Client, l *task.Leased, act string, more map[string]any) {
		t.Helper()
		status, code := say(by, l, act, more)
		want(what, status, code, wantStatus, wantCode)
	}
	check("working", 200, "", c, old, "working", nil)
	check("working again", 200, "", c, old, "working", nil)
	check("events", 200, "", c, old, "events", line(1, "a", "b"))
	check("the same events and one more", 200, "", c, old, "events", line(1, "a", "b", "c"))
	check("a gap", 422, "invalid_field", c, old, "events", line(9, "x"))
	if got := strings.Join(srv.rows("SELECT content FROM messages WHERE type = 'text' ORDER BY id"), ""); got != "abc" {
		t.Errorf("got the transcript %s", got)
	}
	own := srv.api(old.Token)
	check("the agent itself ends its run", 403, "forbidden", own, old, "finish", map[string]any{"status": "completed", "summary": "x"})
	check("a person reports", 403, "forbidden", srv.person, old, "heartbeat", nil)
	other := srv.api(srv.token("--scope", "worker", "--name", "stranger"))
	check("another worker with the right lease", 409, "stale_lease", other, old, "heartbeat", nil)
	check("a state that no runner may report", 422, "invalid_field", c, old, "finish", map[string]any{"status": "failed", "phase": "lost"})
	check("a changed file without a name", 422, "invalid_field", c, old, "finish",
		map[string]any{"status": "completed", "work": map[string]any{"total": 1, "files": []any{map[string]any{"path": "", "change": "added"}}}})
	check("fewer changed files than listed", 422, "invalid_field", c, old, "finish",
		map[string]any{"status": "completed", "work": map[string]any{"total": 0, "files": []any{map[string]any{"path": "a", "change": "added"}}}})
	check("back into the queue", 200, "", c, old, "finish", map[string]any{"status": "returned"})
	check("and again", 200, "", c, old, "finish", map[string]any{"status": "returned"})
	check("a heartbeat of a returned run", 409, "stale_lease", c, old, "heartbeat", nil)
	now := lease()
	if now == nil || now.RunID != old.RunID || now.Lease != old.Lease+1 {
		t.Fatalf("got the lease %+v", now)
	}
	for _, act := range []string{"working", "heartbeat"} {
		check(act+" under the old lease", 409, "stale_lease", c, old, act, nil)
	}
	check("events under the old lease", 409, "stale_lease", c, old, "events", line(4, "x"))
	end := map[string]any{"status": "completed", "summary": "done there"}
	check("the end under the old lease", 409, "stale_lease", c, old, "finish", end)
	check("the end", 200, "", c, now, "finish", end)
	check("the end again", 200, "", c, now, "finish", end)
	check("another end", 409, "stale_lease", c, now, "finish", map[string]any{"status": "failed", "reason": "x"})
	srv.await(tk.ID, "completed|ended|1|2")
	if _, code := say(c, now, "heartbeat", nil); code != "" {
		t.Errorf("for a heartbeat after the end, got %s", code)
	}
	if err := c.Do(t.Context(), "GET", "/api/tasks", nil, nil); err == nil {
		t.Error("a worker can read tasks")
	}
}

func TestARunOfADeadWorkerIsRetried(t *testing.T) {
	t.Parallel()
	srv := newWorkerServer(t)
	first := srv.work("--labels", "gpu")
	tk := srv.create()
	testkit.Eventually(t, "the agent and its child run", func() bool { return srv.programs() >= 3 })
	srv.await(tk.ID, "running|working|1|1")
	testkit.NoError(t, first.Process.Kill())
	testkit.Eventually(t, "its programs end with it", func() bool { return srv.programs() == 0 })
	srv.await(tk.ID, "running|working|1|1")
	srv.expireLease()
	srv.release()
	srv.work("--labels", "gpu")
	srv.await(tk.ID, "failed|lost|1|1", "completed|ended|2|1")
}

// expireLease has the effect of a minute without a heartbeat.
func (srv *workerServer) expireLease() {
	srv.t.Helper()
	driver, source := "sqlite3", "file:"+filepath.Join(srv.data, "taskyard.db")+"?_busy_timeout=5000"
	if srv.store != "" {
		driver, source = "pgx", srv.store
	}
	d, err := sql.Open(driver, source)
	testkit.NoError(srv.t, err)
	defer d.Close()
	if _, err := d.ExecContext(srv.t.Context(), "UPDATE runs SET lease_expires = 1 WHERE status = 'running'"); err != nil {
		srv.t.Fatal(err)
	}
}
