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

// forGPU assigns runs of the runner script to workers with the label gpu.
var forGPU = script(Runner{Worker: true, Labels: []string{"gpu"}})

func (inst *instance) lease(labels ...string) *task.Leased {
	inst.t.Helper()
	return must(inst.s.LeaseRun(inst.ctx(), gpuBox, task.WorkerAsk{Labels: labels}))
}

// leaseWorking leases a run of coder that starts working, and returns the hold for its
// reports.
func (inst *instance) leaseWorking() (*task.Leased, task.LeaseRef) {
	inst.t.Helper()
	inst.queueRuns("coder", 1)
	l := inst.lease("gpu")
	hold := task.LeaseRef{Attempt: l.Attempt, Lease: l.Lease}
	ok(inst.t, inst.s.ReportWorking(inst.ctx(), gpuBox, l.RunID, hold))
	return l, hold
}

// holdHeartbeat sends a heartbeat that waits, and returns a channel with its response.
func (inst *instance) holdHeartbeat(l *task.Leased, hold task.LeaseRef) <-chan task.Beat {
	beats := make(chan task.Beat, 1)
	go func() {
		b, err := inst.s.ReportAlive(context.Background(), gpuBox, l.RunID, hold, false, time.Minute)
		if err != nil {
			inst.t.Error(err)
		}
		beats <- b
	}()
	return beats
}

func TestRunsForWorkers(t *testing.T) {
	t.Parallel()
	t.Run("are not started by the server", func(t *testing.T) {
		inst := newInstance(t, forGPU)
		inst.queueRuns("coder", 1)
		inst.nothingStarts()
	})
	t.Run("go to a worker that offers every label", func(t *testing.T) {
		inst := newInstance(t, forGPU)
		r := inst.queueRuns("coder", 1)[0]
		if inst.lease() != nil || inst.lease("linux") != nil {
			t.Fatal("the run was leased to a worker without the label")
		}
		got := inst.lease("linux", "gpu")
		if got == nil || got.RunID != r.ID || got.Lease != 1 || got.Attempt != 1 ||
			got.Spec.Agent != "coder" || got.Token == "" || got.Seconds != 60 {
			t.Fatalf("got lease %+v", got)
		}
		if inst.lease("gpu") != nil {
			t.Fatal("the run was leased twice")
		}
	})
	t.Run("go to a worker that has the runner", func(t *testing.T) {
		inst := newInstance(t, forGPU)
		inst.queueRuns("coder", 1)
		ask := task.WorkerAsk{Labels: []string{"gpu"}, Runners: []string{"other"}}
		if got := must(inst.s.LeaseRun(inst.ctx(), gpuBox, ask)); got != nil {
			t.Fatal("the run was leased to a worker with another runner")
		}
		ask.Runners = []string{"script"}
		if got := must(inst.s.LeaseRun(inst.ctx(), gpuBox, ask)); got == nil {
			t.Fatal("the run was not leased")
		}
	})
	t.Run("wake a waiting worker", func(t *testing.T) {
		inst := newInstance(t, forGPU)
		got := make(chan *task.Leased, 1)
		go func() {
			l, err := inst.s.LeaseRun(context.Background(), gpuBox, task.WorkerAsk{Labels: []string{"gpu"}, Wait: time.Minute})
			if err != nil {
				t.Error(err)
			}
			got <- l
		}()
		r := inst.queueRuns("coder", 1)[0]
		if l := <-got; l == nil || l.RunID != r.ID {
			t.Fatalf("got lease %+v", l)
		}
	})
	t.Run("count for runs.max_parallel and for their agent", func(t *testing.T) {
		inst := newInstance(t, forGPU)
		inst.queueRuns("coder", 2)
		if inst.lease("gpu") == nil || inst.lease("gpu") != nil {
			t.Fatal("two runs of one agent are running")
		}
	})
	t.Run("stay in the queue while their agent is paused", func(t *testing.T) {
		inst := newInstance(t, forGPU)
		inst.queueRuns("coder", 1)
		must(inst.s.Pause(inst.ctx(), maya, "coder", "x"))
		if inst.lease("gpu") != nil {
			t.Fatal("the run was leased")
		}
	})
	t.Run("are only for workers", func(t *testing.T) {
		inst := newInstance(t, forGPU)
		for _, a := range []task.Actor{maya, coder, vera, {}} {
			if _, err := inst.s.LeaseRun(inst.ctx(), a, task.WorkerAsk{Labels: []string{"gpu"}}); err == nil {
				t.Errorf("%s leased a run", a.Name)
			}
		}
	})
}

func TestAWaitingHeartbeatReturnsAtTheEndOfTheRun(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, forGPU)
	l, hold := inst.leaseWorking()
	beats := inst.holdHeartbeat(l, hold)
	must(inst.s.CancelRun(inst.ctx(), oleg, l.RunID, "Not now."))
	equal(t, "beat", <-beats, task.Beat{Cancel: true, Phase: task.PhaseBy, Reason: "Not now."})
}

func TestOnlyARunsWorkerReceivesItsStop(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, forGPU)
	l, hold := inst.leaseWorking()
	beats := inst.holdHeartbeat(l, hold)
	listens := func() bool {
		_, ok := inst.s.workerStops.Load(l.RunID)
		return ok
	}
	for !listens() {
		runtime.Gosched()
	}
	other := task.Actor{Name: "worker:other", Role: task.RoleWorker, TokenID: 2}
	for _, a := range []task.Actor{other, gpuBox} {
		_, err := inst.s.ReportAlive(inst.ctx(), a, l.RunID, task.LeaseRef{Attempt: l.Attempt, Lease: l.Lease + 1}, false, time.Minute)
		refused(t, err, task.CodeStaleLease)
	}
	if !listens() {
		t.Error("the run's worker no longer hears of its stop")
	}
	must(inst.s.CancelRun(inst.ctx(), oleg, l.RunID, "Not now."))
	equal(t, "beat", <-beats, task.Beat{Cancel: true, Phase: task.PhaseBy, Reason: "Not now."})
}

func TestRunsWaitingForAWorkerSayWhy(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, forGPU)
	r := inst.queueRuns("coder", 1)[0]
	why := func() task.Reason { return must(inst.s.Why(inst.ctx(), maya, r.TaskID))[0] }
	wants := func(code task.WhyCode, words string) {
		t.Helper()
		if got := why(); got.Code != code || !strings.Contains(got.Message, words) {
			t.Errorf("got %+v, want %s: %s", got, code, words)
		}
	}
	wants(task.WhyNoWorker, "no worker for the runner script with the labels gpu has asked since the server started")
	inst.lease("linux")
	wants(task.WhyNoWorker, "since the server started")
	must(inst.s.Pause(inst.ctx(), maya, "coder", "x"))
	inst.lease("gpu")
	inst.lease("linux") // on another machine, with the same token and name
	must(inst.s.Resume(inst.ctx(), maya, "coder", "x"))
	wants(task.WhyQueued, "it starts when a slot is free")
	inst.Forward(12 * time.Minute)
	wants(task.WhyNoWorker, "has asked for 12 min")
	st := must(inst.s.Scheduler(inst.ctx(), vera))
	if got := st.Why[r.ID]; !strings.Contains(got, "has asked for 12 min") {
		t.Errorf("got scheduler text %q", got)
	}
	if inst.s.NoWorkerReason("none") != "" {
		t.Error("a runner that needs no worker is reported as lacking one")
	}
}

// TestWorkersGetNoTasksOfProjects covers agents whose runs are executed on other machines:
// the repositories of projects are on the server.
func TestWorkersGetNoTasksOfProjects(t *testing.T) {
	t.Parallel()
	configured := map[string]Runner{}
	inst := newInstance(t, func(c *Config) {
		c.Runner, c.Repositories, c.Wakes = func(name string) Runner { return configured[name] }, listedGit{}, true
	})
	must(inst.s.CreateProject(inst.ctx(), maya, task.Project{Key: "web", Repository: "/srv/web"}))
	must(inst.s.CreateProject(inst.ctx(), maya, task.Project{Key: "notes"}))
	inWeb := func(in *task.New) { in.Project = "web" }
	before := inst.create(maya, "coder", inWeb, noStart)
	configured["script"] = Runner{Worker: true} // runs of coder and planner are for workers from now on
	mine := inst.create(maya, "pull", inWeb)
	free := inst.create(maya, "coder", noStart)
	inst.create(maya, "coder", func(in *task.New) { in.Project = "notes" })
	held := must(inst.s.Signup(inst.ctx(), pull, "pull", 1))[0]
	const why = "cannot work on tasks of project web: workers on other machines"
	last := inst.lastEvent()
	for name, call := range map[string]func() error{
		"create": func() error {
			_, err := inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: "coder", Project: "web", Status: task.Draft})
			return err
		},
		"owner": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), maya, mine.ID, task.Patch{Owner: ptr("coder")})
			return err
		},
		"project": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), maya, free.ID, task.Patch{Project: ptr("web")})
			return err
		},
		"move": func() error {
			_, err := inst.s.MoveTask(inst.ctx(), pull, Move{TaskID: held.ID, CurrentAgent: "pull", NewAgent: "coder", Comment: "yours"})
			return err
		},
		"reassign": func() error {
			_, err := inst.s.Reassign(inst.ctx(), maya, "pull", []task.ID{mine.ID}, "coder", "yours")
			return err
		},
		"run": func() error { _, err := inst.s.RunNow(inst.ctx(), maya, before.ID); return err },
	} {
		t.Run(name+" is refused", func(t *testing.T) { refused(t, call(), task.CodeRepository, "coder "+why) })
	}
	equal(t, "last event", inst.lastEvent(), last)
	t.Run("an existing task says why it does not run, and ticks skip it", func(t *testing.T) {
		list := must(inst.s.Why(inst.ctx(), maya, before.ID))
		equal(t, "reason", list[0].Code, task.WhyOwnerInvalid)
		if !strings.Contains(list[0].Message, why) {
			t.Errorf("got reason %q", list[0].Message)
		}
		must(inst.s.Comment(inst.ctx(), maya, before.ID, "please")) // does not wake the owner
		must(inst.s.Tick(inst.ctx(), "cron"))
		equal(t, "open runs", inst.openRun(before.ID) == nil, true)
	})
	t.Run("the task can be given to another agent", func(t *testing.T) {
		must(inst.s.UpdateTask(inst.ctx(), maya, before.ID, task.Patch{Title: ptr("Renamed"), Owner: ptr("pull")}))
	})
}

func TestAWorkerTokenHasNoOtherRights(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for _, scope := range []string{"worker act-as", "worker admin"} {
		_, err := inst.s.CreateToken(inst.ctx(), maya, NewToken{Name: "box", Scope: scope})
		refused(t, err, task.CodeInvalidField, "cannot be combined")
	}
	admin := must(inst.s.AddUser(inst.ctx(), maya, "ada", "correct horse battery", task.RoleAdmin))
	made := must(inst.s.CreateToken(inst.ctx(), task.Actor{Name: "user:ada", Role: task.RoleAdmin, UserID: admin.ID},
		NewToken{Name: "ada-box", Scope: "worker", Own: true}))
	a := must(inst.s.Authenticate(inst.ctx(), made.Secret, ""))
	equal(t, "role", a.Role, task.RoleWorker)
	equal(t, "name", a.Name, "worker:ada-box")
	if _, err := inst.s.Agents(a); err == nil {
		t.Error("the token can read")
	}
}

// A worker without another slot asks for delegated runs while its run waits.
func TestAWorkerGetsRunsDelegatedByItsRun(t *testing.T) {
	t.Parallel()
	inst := delegating(t, forGPU)
	ask := func(parent task.ID) *task.Leased {
		return must(inst.s.LeaseRun(inst.ctx(), gpuBox, task.WorkerAsk{Labels: []string{"gpu"}, Parent: parent}))
	}
	inst.queueRuns("boss", 1)
	l := ask(0)
	ok(t, inst.s.ReportWorking(inst.ctx(), gpuBox, l.RunID, task.LeaseRef{Attempt: l.Attempt, Lease: l.Lease}))
	inst.queueRuns("lead", 1)
	if got := ask(l.RunID); got != nil {
		t.Fatalf("run %d was leased, but was not delegated", got.RunID)
	}
	d := inst.delegate(task.Actor{Name: "boss", Role: task.RoleAgent, RunID: l.RunID}, task.Delegation{})
	if got := ask(l.RunID + 100); got != nil {
		t.Fatalf("run %d was leased, but was delegated by another run", got.RunID)
	}
	equal(t, "leased", ask(l.RunID).RunID, d.RunID)
}

func TestAThousandOtherWorkersDoNotHideAWorkingOne(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, forGPU)
	for n := range maxKnownWorkers + 10 {
		if n == 100 { // so that it is not among the oldest
			inst.lease("gpu")
		}
		inst.Forward(time.Millisecond)
		must(inst.s.LeaseRun(inst.ctx(), gpuBox, task.WorkerAsk{Name: "box-" + task.ID(n).String()}))
	}
	equal(t, "reason", inst.s.NoWorkerReason("script"), "")
}
