package service

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// gpuBox is a worker's token.
var gpuBox = task.Actor{Name: "worker:box", Role: task.RoleWorker, TokenID: 1}

// forGPU leaves the runs of the runner script to workers with the label gpu.
var forGPU = script(Runner{Worker: true, Labels: []string{"gpu"}})

func (y *instance) lease(labels ...string) *task.Leased {
	y.t.Helper()
	return must(y.s.LeaseRun(y.ctx(), gpuBox, task.WorkerAsk{Labels: labels}))
}

// leaseWorking leases a run of coder that then works, and returns the fence of its
// reports.
func (y *instance) leaseWorking() (*task.Leased, task.Hold) {
	y.t.Helper()
	y.queueRuns("coder", 1)
	l := y.lease("gpu")
	hold := task.Hold{Attempt: l.Attempt, Lease: l.Lease}
	ok(y.t, y.s.ReportWorking(y.ctx(), gpuBox, l.RunID, hold))
	return l, hold
}

// holdHeartbeat sends a heartbeat that is held, and returns a channel of its answer.
func (y *instance) holdHeartbeat(l *task.Leased, hold task.Hold) <-chan task.Beat {
	heard := make(chan task.Beat, 1)
	go func() {
		b, err := y.s.ReportAlive(context.Background(), gpuBox, l.RunID, hold, false, time.Minute)
		if err != nil {
			y.t.Error(err)
		}
		heard <- b
	}()
	return heard
}

func TestRunsForWorkers(t *testing.T) {
	t.Run("are not started by the server", func(t *testing.T) {
		y := newInstance(t, forGPU)
		y.queueRuns("coder", 1)
		y.nothingStarts()
	})
	t.Run("go to a worker that offers every label", func(t *testing.T) {
		y := newInstance(t, forGPU)
		r := y.queueRuns("coder", 1)[0]
		if y.lease() != nil || y.lease("linux") != nil {
			t.Fatal("it was leased to a worker without the label")
		}
		got := y.lease("linux", "gpu")
		if got == nil || got.RunID != r.ID || got.Lease != 1 || got.Attempt != 1 ||
			got.Spec.Agent != "coder" || got.Token == "" || got.Seconds != 60 {
			t.Fatalf("leased %+v", got)
		}
		if y.lease("gpu") != nil {
			t.Fatal("it was leased twice")
		}
	})
	t.Run("go to a worker that has the runner", func(t *testing.T) {
		y := newInstance(t, forGPU)
		y.queueRuns("coder", 1)
		ask := task.WorkerAsk{Labels: []string{"gpu"}, Runners: []string{"other"}}
		if got := must(y.s.LeaseRun(y.ctx(), gpuBox, ask)); got != nil {
			t.Fatal("it was leased to a worker with another runner")
		}
		ask.Runners = []string{"script"}
		if got := must(y.s.LeaseRun(y.ctx(), gpuBox, ask)); got == nil {
			t.Fatal("it was not leased")
		}
	})
	t.Run("wake a worker that waits", func(t *testing.T) {
		y := newInstance(t, forGPU)
		got := make(chan *task.Leased, 1)
		go func() {
			l, err := y.s.LeaseRun(context.Background(), gpuBox, task.WorkerAsk{Labels: []string{"gpu"}, Wait: time.Minute})
			if err != nil {
				t.Error(err)
			}
			got <- l
		}()
		r := y.queueRuns("coder", 1)[0]
		if l := <-got; l == nil || l.RunID != r.ID {
			t.Fatalf("leased %+v", l)
		}
	})
	t.Run("count for runs.max_parallel and for their agent", func(t *testing.T) {
		y := newInstance(t, forGPU)
		y.queueRuns("coder", 2)
		if y.lease("gpu") == nil || y.lease("gpu") != nil {
			t.Fatal("two runs of one agent run")
		}
	})
	t.Run("stay in the queue while their agent is paused", func(t *testing.T) {
		y := newInstance(t, forGPU)
		y.queueRuns("coder", 1)
		must(y.s.Pause(y.ctx(), maya, "coder", "x"))
		if y.lease("gpu") != nil {
			t.Fatal("it was leased")
		}
	})
	t.Run("are only for workers", func(t *testing.T) {
		y := newInstance(t, forGPU)
		for _, a := range []task.Actor{maya, coder, vera, {}} {
			if _, err := y.s.LeaseRun(y.ctx(), a, task.WorkerAsk{Labels: []string{"gpu"}}); err == nil {
				t.Errorf("%s leased a run", a.Name)
			}
		}
	})
}

func TestHeldHeartbeatHearsOfTheEnd(t *testing.T) {
	y := newInstance(t, forGPU)
	l, hold := y.leaseWorking()
	heard := y.holdHeartbeat(l, hold)
	must(y.s.CancelRun(y.ctx(), oleg, l.RunID, "Not now."))
	equal(t, "beat", <-heard, task.Beat{Cancel: true, Phase: task.PhaseBy, Reason: "Not now."})
}

func TestNobodyElseHearsOrSilencesTheStopOfARun(t *testing.T) {
	y := newInstance(t, forGPU)
	l, hold := y.leaseWorking()
	heard := y.holdHeartbeat(l, hold)
	listens := func() bool {
		_, ok := y.s.workerStops.Load(l.RunID)
		return ok
	}
	for !listens() {
		runtime.Gosched()
	}
	other := task.Actor{Name: "worker:other", Role: task.RoleWorker, TokenID: 2}
	for _, a := range []task.Actor{other, gpuBox} {
		_, err := y.s.ReportAlive(y.ctx(), a, l.RunID, task.Hold{Attempt: l.Attempt, Lease: l.Lease + 1}, false, time.Minute)
		refused(t, err, task.CodeStaleLease)
	}
	if !listens() {
		t.Error("the worker of the run does not hear of its stop any more")
	}
	must(y.s.CancelRun(y.ctx(), oleg, l.RunID, "Not now."))
	equal(t, "beat", <-heard, task.Beat{Cancel: true, Phase: task.PhaseBy, Reason: "Not now."})
}

func TestWhoWaitsForAWorkerIsTold(t *testing.T) {
	y := newInstance(t, forGPU)
	r := y.queueRuns("coder", 1)[0]
	why := func() task.Reason { return must(y.s.Why(y.ctx(), maya, r.TaskID))[0] }
	wants := func(code task.WhyCode, words string) {
		t.Helper()
		if got := why(); got.Code != code || !strings.Contains(got.Message, words) {
			t.Errorf("told %+v, want %s: %s", got, code, words)
		}
	}
	wants(task.WhyNoWorker, "no worker for the runner script with the labels gpu has asked since the server started")
	y.lease("linux")
	wants(task.WhyNoWorker, "since the server started")
	must(y.s.Pause(y.ctx(), maya, "coder", "x"))
	y.lease("gpu")
	y.lease("linux") // on another machine, with the same token and name
	must(y.s.Resume(y.ctx(), maya, "coder", "x"))
	wants(task.WhyQueued, "it starts when a slot is free")
	y.Forward(12 * time.Minute)
	wants(task.WhyNoWorker, "has asked for 12 min")
	st := must(y.s.Scheduler(y.ctx(), vera))
	if got := st.Why[r.ID]; !strings.Contains(got, "has asked for 12 min") {
		t.Errorf("the scheduler says %q", got)
	}
	if y.s.NoWorkerReason("none") != "" {
		t.Error("a runner that needs no worker has none")
	}
}

// TestWorkersGetNoTaskOfAProject is about agents whose runs are executed on
// other machines: the repositories of projects are on the server.
func TestWorkersGetNoTaskOfAProject(t *testing.T) {
	t.Parallel()
	configured := map[string]Runner{}
	y := newInstance(t, func(c *Config) {
		c.Runner, c.Repositories, c.Wakes = func(name string) Runner { return configured[name] }, listedGit{}, true
	})
	must(y.s.CreateProject(y.ctx(), maya, task.Project{Key: "web", Repository: "/srv/web"}))
	must(y.s.CreateProject(y.ctx(), maya, task.Project{Key: "notes"}))
	inWeb := func(in *task.New) { in.Project = "web" }
	before := y.create(maya, "coder", inWeb, noStart)
	configured["script"] = Runner{Worker: true} // the runs of coder and planner are for workers from here on
	mine := y.create(maya, "pull", inWeb)
	free := y.create(maya, "coder", noStart)
	y.create(maya, "coder", func(in *task.New) { in.Project = "notes" })
	held := must(y.s.Signup(y.ctx(), pull, "pull", 1))[0]
	const why = "cannot work on tasks of project web: workers on other machines"
	last := y.lastEvent()
	for name, call := range map[string]func() error{
		"create": func() error {
			_, err := y.s.CreateTask(y.ctx(), maya, task.New{Title: "x", Owner: "coder", Project: "web", Status: task.Draft})
			return err
		},
		"owner": func() error {
			_, err := y.s.UpdateTask(y.ctx(), maya, mine.ID, task.Patch{Owner: ptr("coder")})
			return err
		},
		"project": func() error {
			_, err := y.s.UpdateTask(y.ctx(), maya, free.ID, task.Patch{Project: ptr("web")})
			return err
		},
		"move": func() error {
			_, err := y.s.MoveTask(y.ctx(), pull, Move{TaskID: held.ID, CurrentAgent: "pull", NewAgent: "coder", Comment: "yours"})
			return err
		},
		"reassign": func() error {
			_, err := y.s.Reassign(y.ctx(), maya, "pull", []task.ID{mine.ID}, "coder", "yours")
			return err
		},
		"run": func() error { _, err := y.s.RunNow(y.ctx(), maya, before.ID); return err },
	} {
		t.Run(name+" is refused", func(t *testing.T) { refused(t, call(), task.CodeRepository, "coder "+why) })
	}
	equal(t, "last event", y.lastEvent(), last)
	t.Run("a task that it has says why it does not run, and a tick leaves it alone", func(t *testing.T) {
		list := must(y.s.Why(y.ctx(), maya, before.ID))
		equal(t, "reason", list[0].Code, task.WhyOwnerInvalid)
		if !strings.Contains(list[0].Message, why) {
			t.Errorf("why: %q", list[0].Message)
		}
		must(y.s.Comment(y.ctx(), maya, before.ID, "please")) // wakes nobody
		must(y.s.Tick(y.ctx(), "cron"))
		equal(t, "open runs", y.openRun(before.ID) == nil, true)
	})
	t.Run("it can be given to another agent", func(t *testing.T) {
		must(y.s.UpdateTask(y.ctx(), maya, before.ID, task.Patch{Title: ptr("Renamed"), Owner: ptr("pull")}))
	})
}

func TestATokenOfAWorkerIsNothingElse(t *testing.T) {
	y := newInstance(t)
	for _, scope := range []string{"worker act-as", "worker admin"} {
		_, err := y.s.CreateToken(y.ctx(), maya, NewToken{Name: "box", Scope: scope})
		refused(t, err, task.CodeInvalidField, "cannot be combined")
	}
	admin := must(y.s.AddUser(y.ctx(), maya, "ada", "correct horse battery", task.RoleAdmin))
	made := must(y.s.CreateToken(y.ctx(), task.Actor{Name: "user:ada", Role: task.RoleAdmin, UserID: admin.ID},
		NewToken{Name: "ada-box", Scope: "worker", Own: true}))
	a := must(y.s.Authenticate(y.ctx(), made.Secret, ""))
	equal(t, "role", a.Role, task.RoleWorker)
	equal(t, "name", a.Name, "worker:ada-box")
	if _, err := y.s.Agents(a); err == nil {
		t.Error("it reads")
	}
}
