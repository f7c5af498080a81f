package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// delegateArg makes this binary an agent: it delegates to the agent that the next
// argument names, waits for the end, and passes on the result.
const delegateArg = "delegating-agent"

func delegateMain() int {
	api := &client.Client{URL: os.Getenv("TASKYARD_URL"), Token: os.Getenv("TASKYARD_TOKEN"), HTTP: &http.Client{Timeout: patience}}
	to, answer := os.Args[2], ""
	fmt.Println("I ask " + to + ".")
	var d task.Delegated
	err := api.Do(context.Background(), "POST", "/api/delegate",
		map[string]any{"task": "Continue below " + os.Getenv("TASKYARD_AGENT"), "agentType": to, "waitSeconds": 1}, &d)
	for err == nil && !d.Ended() {
		err = api.Do(context.Background(), "GET", "/api/delegate/"+d.RunID.String()+"?waitSeconds=50", nil, &d)
	}
	switch {
	case err != nil:
		answer = "refused: " + err.Error()
	case d.Success:
		answer = d.Summary
	default:
		answer = "it did not work: " + d.Error
	}
	b, err := json.Marshal(map[string]any{"summary": os.Getenv("TASKYARD_AGENT") + " < " + answer, "success": true})
	if err != nil {
		return 1
	}
	fmt.Println(string(b))
	return 0
}

// holdScript has children that leave its process group, and never ends.
const holdScript = `(setsid sh -c 'sleep 900' >/dev/null 2>&1 &)
sh -c 'sleep 901 & wait' &
echo spawned
sleep 902
`

// newDelegates returns a server whose agents boss, lead and deep delegate, each to
// the next; deep would delegate to lead. hold never ends, broken fails. One run may
// be running at a time.
func newDelegates(t *testing.T, boss string) (*server, *client.Client) {
	t.Helper()
	s := newServer(t, "serve")
	self := testBinary(t)
	hold := put(t, filepath.Join(t.TempDir(), "hold.sh"), holdScript)
	conf := "[runs]\nmax_parallel = 1\nattempts = 1\n[approval]\npolicy = \"never\"\n[task_tool]\nenable_verbose_logging = true\n"
	agent := func(name string, command ...string) {
		list, err := json.Marshal(command)
		testkit.NoError(t, err)
		conf += fmt.Sprintf("[runners.%s]\nkind = \"command\"\ncommand = %s\n", name, list)
		s.file("agents/"+name+".md", "---\nname: "+name+"\ndescription: For tests.\ntools: read, task\nrunner: "+name+"\n---\nWork.\n")
	}
	agent("boss", self, delegateArg, boss)
	agent("lead", self, delegateArg, "deep")
	agent("deep", self, delegateArg, "lead")
	agent("holder", self, delegateArg, "hold")
	agent("hold", "/bin/sh", hold)
	agent("broken", "/bin/sh", "-c", "echo no >&2; exit 3")
	s.file("taskyard.toml", conf)
	s.start()
	return s, s.api(s.token("--scope", "operate"))
}

// outcome waits for the end of the task's run and returns its status and summary.
func (s *server) outcome(id task.ID) string {
	s.t.Helper()
	testkit.Eventually(s.t, "the run of task "+id.String()+" ends", func() bool {
		return s.rows("SELECT count(*) FROM runs WHERE task_id = ? AND ended_at IS NOT NULL", id)[0] == "1"
	})
	return s.rows("SELECT status, summary FROM runs WHERE task_id = ?", id)[0]
}

func TestRunsDelegateUpToTheDepthLimit(t *testing.T) {
	t.Parallel()
	s, person := newDelegates(t, "lead")
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Delegate", "owner": "boss"})
	got := s.outcome(tk.ID)
	if want := "completed|boss < lead < deep < refused: maximum sub-agent depth exceeded " +
		"(depth 2, limit 2) (409 depth_exceeded)"; got != want {
		t.Errorf("got the result %q, want %q", got, want)
	}
	t.Run("each run is below the one that delegated, with one slot in total", func(t *testing.T) {
		got := strings.Join(s.rows("SELECT agent, depth, cause, coalesce(parent_run, 0), status FROM runs ORDER BY id"), " ")
		if want := "boss|0|wake|0|completed lead|1|delegate|1|completed deep|2|delegate|2|completed"; got != want {
			t.Errorf("got runs %q", got)
		}
	})
	t.Run("their tasks are done, with the summaries, and nothing follows", func(t *testing.T) {
		got := strings.Join(s.rows("SELECT owner, status, run_id, summary FROM tasks WHERE id > ? ORDER BY id", tk.ID), "\n")
		if !strings.HasPrefix(got, "lead|done|<nil>|lead < deep < refused") || !strings.Contains(got, "\ndeep|done|<nil>|deep < refused") {
			t.Errorf("got tasks %q", got)
		}
	})
	t.Run("the log shows what they did", func(t *testing.T) {
		if log := s.log.String(); !strings.Contains(log, `"msg":"task delegated"`) || !strings.Contains(log, `"text":"I ask deep."`) {
			t.Error("the log does not show it")
		}
	})
	s.wantNoProcesses("after the runs", nil)
}

func TestAFailedDelegatedRunIsReportedToItsParent(t *testing.T) {
	t.Parallel()
	s, person := newDelegates(t, "broken")
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Delegate", "owner": "boss"})
	got := s.outcome(tk.ID)
	if !strings.HasPrefix(got, "completed|boss < it did not work: run 2 of agent broken failed (error) in attempt 1: ") ||
		!strings.Contains(got, "3") {
		t.Errorf("got the result %q", got)
	}
}

func TestACanceledRunLeavesNoDelegatedProcess(t *testing.T) {
	t.Parallel()
	s, person := newDelegates(t, "holder")
	tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Delegate", "owner": "boss"})
	testkit.Eventually(t, "the run at depth 2 has spawned its children", func() bool {
		return s.rows("SELECT count(*) FROM messages m JOIN runs r ON r.id = m.run_id WHERE r.agent = 'hold' AND m.content = 'spawned'")[0] == "1"
	})
	if n := len(s.processes([]string{"3"})); n < 4 {
		t.Fatalf("got only %d processes of run 3", n)
	}
	call[task.Run](t, person, "POST", "/api/runs/1/cancel", map[string]any{"reason": "wrong way"})
	got := strings.Join(s.rows("SELECT status, phase FROM runs ORDER BY id"), " ")
	if want := "canceled|by canceled|task_closed canceled|task_closed"; got != want {
		t.Errorf("got runs %q", got)
	}
	testkit.Eventually(t, "every process has ended", func() bool { return len(s.processes(nil)) == 0 })
	t.Run("their tasks are canceled and name the run", func(t *testing.T) {
		for _, row := range s.rows("SELECT status, summary FROM tasks WHERE id > ?", tk.ID) {
			if !strings.HasPrefix(row, "canceled|run ") || !strings.Contains(row, ", which delegated it, was canceled: ") {
				t.Errorf("%q", row)
			}
		}
	})
	t.Run("the parent task stays active", func(t *testing.T) {
		if got := s.rows("SELECT status FROM tasks WHERE id = ?", tk.ID)[0]; got != "active" {
			t.Errorf("got %s", got)
		}
	})
}

// The server is killed during a run that waits for another.
func TestALostRunEndsTheRunsThatItDelegated(t *testing.T) {
	t.Parallel()
	s, person := newDelegates(t, "hold")
	call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Delegate", "owner": "boss"})
	testkit.Eventually(t, "the delegated run works", func() bool {
		return s.rows("SELECT count(*) FROM messages m JOIN runs r ON r.id = m.run_id WHERE r.agent = 'hold' AND m.content = 'spawned'")[0] == "1"
	})
	s.kill()
	s.start()
	testkit.Eventually(t, "no run is open and no process left", func() bool {
		return s.rows("SELECT count(*) FROM runs WHERE ended_at IS NULL")[0] == "0" && len(s.processes(nil)) == 0
	})
	got := strings.Join(s.rows("SELECT status, phase FROM runs ORDER BY id"), " ")
	if want := "failed|lost canceled|task_closed"; got != want {
		t.Errorf("got runs %q", got)
	}
}
