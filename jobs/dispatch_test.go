package jobs

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/internal/testkit"
	"taskyard/runner/supervise"
	"taskyard/service"
	"taskyard/task"
)

func TestDispatchOrderAndLimits(t *testing.T) {
	t.Parallel()
	t.Run("an agent's runs start one at a time, in queue order", func(t *testing.T) {
		inst := newInstance(t, setup{})
		tasks := []*task.Task{inst.create("coder"), inst.create("coder"), inst.create("coder")}
		for i, tk := range tasks {
			f := inst.next()
			if f.TaskID != tk.ID {
				t.Errorf("run %d: got task %d, want %d", i, f.TaskID, tk.ID)
			}
			inst.checkRunning(1)
			f.complete()
		}
	})
	t.Run("an agent runs up to max_parallel runs", func(t *testing.T) {
		inst := newInstance(t, setup{agents: map[string]string{"coder": "max_parallel: 2"}})
		for range 3 {
			inst.create("coder")
		}
		a, b := inst.next(), inst.next()
		inst.checkRunning(2)
		b.complete()
		c := inst.next()
		inst.checkRunning(2)
		a.complete()
		c.complete()
	})
	t.Run("the instance's limit applies across agents, oldest first", func(t *testing.T) {
		two := func(c *service.Config) { c.MaxParallel = 2 }
		inst := newInstance(t, setup{cfg: two, agents: map[string]string{"a": "", "b": "", "c": "", "d": ""}})
		inst.create("c")
		inst.create("a")
		first, second := inst.next(), inst.next()
		third, fourth := inst.create("d"), inst.create("b")
		inst.checkRunning(2)
		first.complete()
		f := inst.next()
		if f.TaskID != third.ID {
			t.Errorf("next task: got %d, want %d", f.TaskID, third.ID)
		}
		second.complete()
		g := inst.next()
		if g.TaskID != fourth.ID {
			t.Errorf("last task: got %d, want %d", g.TaskID, fourth.ID)
		}
		f.complete()
		g.complete()
	})
	t.Run("runs of ticks start one at a time, and others overtake them", func(t *testing.T) {
		inst := newInstance(t, setup{agents: map[string]string{"a": "", "b": "", "c": ""}, stopped: true})
		var tasks []*task.Task
		for _, owner := range []string{"a", "b", "c"} {
			tk, err := inst.svc.CreateTask(t.Context(), maya, task.New{Title: "Later", Owner: owner, NoStart: true})
			if err != nil {
				t.Fatal(err)
			}
			tasks = append(tasks, tk)
		}
		if _, err := inst.svc.CancelTask(t.Context(), maya, tasks[2].ID, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := inst.svc.Tick(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		inst.start()
		first := inst.next()
		inst.checkRunning(1)
		inst.create("c")
		woken := inst.next()
		if woken.Plan.Agent != "c" {
			t.Errorf("got a run of %s before the tick's run, want c", woken.Plan.Agent)
		}
		inst.checkRunning(2)
		first.complete()
		second := inst.next()
		if second.TaskID != tasks[1].ID {
			t.Errorf("second task: got %d, want %d", second.TaskID, tasks[1].ID)
		}
		second.complete()
		woken.complete()
	})
}

func TestStopWhileARunStarts(t *testing.T) {
	t.Parallel()
	t.Run("a run claimed while the server stops is queued again afterwards", func(t *testing.T) {
		var armed atomic.Bool
		held, free := make(chan struct{}), make(chan struct{})
		inst := newInstance(t, setup{stopped: true, db: func(o *db.Options) {
			o.Now = func() time.Time {
				if strings.Contains(string(debug.Stack()), "(*writer)") && armed.CompareAndSwap(true, false) {
					close(held)
					<-free
				}
				return time.Now()
			}
		}})
		inst.create("coder")
		armed.Store(true)
		inst.start()
		<-held // within the transaction that claims the run
		stopped := make(chan struct{})
		go func() { defer close(stopped); inst.end() }()
		select {
		case <-inst.jobs.ctx.Done(): // too early: the stop believes that no run is left
		case <-time.After(200 * time.Millisecond):
		}
		close(free)
		<-stopped
		list, err := inst.svc.Runs(context.Background(), maya, task.RunFilter{Limit: 10})
		if err != nil || len(list) != 1 {
			t.Fatalf("got %d runs, %v; want 1", len(list), err)
		}
		if got := list[0].State().String(); got != "pending/queued" || list[0].Attempt != 1 {
			t.Errorf("got run %s in attempt %d", got, list[0].Attempt)
		}
	})
}

func TestARetryStartsAfterItsBackoff(t *testing.T) {
	t.Parallel()
	backoff := func(d time.Duration) func(*service.Config) {
		return func(c *service.Config) { c.Backoff = func(int) time.Duration { return d } }
	}
	for _, tt := range []struct {
		name  string
		setup setup
	}{
		{"without a signal", setup{cfg: backoff(300 * time.Millisecond)}},
		{"the time passes during a dispatch", setup{cfg: backoff(300 * time.Millisecond), ahead: time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inst := newInstance(t, tt.setup)
			inst.create("coder")
			f := inst.next()
			first := f.RunID
			f.fail()
			begin := time.Now()
			again := inst.next()
			took := time.Since(begin)
			r := inst.run(again.RunID)
			if r.RetryOf != first || r.Attempt != 2 || r.Cause != task.CauseRetry {
				t.Errorf("run %d: got attempt %d, cause %s, retry of %d", r.ID, r.Attempt, r.Cause, r.RetryOf)
			}
			if early := r.NotBefore.Sub(r.StartedAt); early > 0 {
				t.Errorf("started %v too early", early)
			}
			if took > 10*time.Second {
				t.Errorf("started after %v", took)
			}
			again.complete()
		})
	}
}

func TestRunLease(t *testing.T) {
	t.Parallel()
	t.Run("heartbeats renew the lease, and the reaper keeps the run", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t, setup{cfg: func(c *service.Config) { c.RunLease = 2 * time.Second }})
		inst.create("coder")
		f := inst.next()
		start := inst.run(f.RunID)
		testkit.EventuallyWithin(inst.t, patience, "the lease is renewed", func() bool {
			return inst.run(f.RunID).LeaseExpires.Sub(start.LeaseExpires) > time.Second
		})
		if err := inst.jobs.endExpired(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := inst.run(f.RunID).Status; got != task.RunRunning {
			t.Errorf("got %s", got)
		}
		f.complete()
		inst.awaitRun(f.RunID, "completed/ended")
	})
	t.Run("a jump of the wall clock does not end a run of this server", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t,
			setup{cfg: func(c *service.Config) { c.RunLease = time.Millisecond }, jobs: func(o *Options) { o.Beat = time.Hour }})
		inst.create("coder")
		f := inst.next()
		testkit.EventuallyWithin(inst.t, patience, "the lease expires", func() bool { return inst.run(f.RunID).LeaseExpires < inst.svc.Now() })
		if err := inst.jobs.endExpired(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := inst.run(f.RunID); got.Status != task.RunRunning || f.ctx.Err() != nil {
			t.Errorf("got %s: %s", got.State(), got.Reason)
		}
		f.complete()
		inst.awaitRun(f.RunID, "completed/ended")
	})
	t.Run("a run that lost its lease is stopped, and its outcome is ignored", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t, setup{})
		inst.create("coder")
		f := inst.next()
		if err := inst.svc.LoseRun(t.Context(), inst.run(f.RunID), "taken away"); err != nil {
			t.Fatal(err)
		}
		<-f.ctx.Done()
		if cause := context.Cause(f.ctx); !errors.Is(cause, supervise.ErrCanceled) {
			t.Errorf("stopped by %v", cause)
		}
		f.sink.Event(supervise.Event{Type: supervise.EventText, Text: "too late"})
		f.complete()
		retry := inst.next() // not earlier, because the previous process must end first
		if got := inst.run(f.RunID); got.State().String() != "failed/lost" || got.Reason != "taken away" {
			t.Errorf("got %s: %s", got.State(), got.Reason)
		}
		for _, m := range inst.transcript(f.RunID) {
			if m.Content == "too late" {
				t.Error("a stale runner wrote to the transcript")
			}
		}
		retry.complete()
	})
	t.Run("a run that nobody executes is reaped and retried", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t, setup{cfg: func(c *service.Config) { c.RunLease = time.Millisecond }, stopped: true})
		inst.create("coder")
		start, _, err := inst.svc.NextRun(t.Context(), nil) // by a runner that exits at once
		if err != nil || start == nil {
			t.Fatalf("%v, %v", start, err)
		}
		testkit.EventuallyWithin(inst.t, patience, "the lease expires",
			func() bool { return inst.run(start.Run.ID).LeaseExpires < inst.svc.Now() })
		if inst.jobs, err = New(inst.opt); err != nil {
			t.Fatal(err)
		}
		if err := inst.jobs.endExpired(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := inst.run(start.Run.ID); got.State().String() != "failed/lost" {
			t.Errorf("got %s", got.State())
		}
		inst.start()
		f := inst.next()
		if r := inst.run(f.RunID); r.RetryOf != start.Run.ID || r.Attempt != 2 {
			t.Errorf("got attempt %d, retry of %d", r.Attempt, r.RetryOf)
		}
		f.complete()
	})
	t.Run("runs left by an earlier server process are ended before anything starts", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t, setup{stopped: true})
		inst.create("coder")
		start, _, err := inst.svc.NextRun(t.Context(), nil)
		if err != nil || start == nil {
			t.Fatalf("%v, %v", start, err)
		}
		inst.start()
		if got := inst.run(start.Run.ID); got.State().String() != "failed/lost" || got.Reason != "the server ended while it ran" {
			t.Errorf("got %s: %s", got.State(), got.Reason)
		}
		inst.next().complete()
	})
}

func TestStopsReachTheRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		act   func(*instance, *manualRun) error
		cause error
		state string
	}{
		{"a canceled run", func(inst *instance, f *manualRun) error {
			_, err := inst.svc.CancelRun(context.Background(), maya, f.RunID, "not needed")
			return err
		}, supervise.ErrCanceled, "canceled/by"},
		{"a run whose task was completed", func(inst *instance, f *manualRun) error {
			_, err := inst.svc.CompleteTask(context.Background(), maya, f.TaskID, "done by hand", 0)
			return err
		}, supervise.ErrTaskClosed, "canceled/task_closed"},
		{"a run whose task was canceled", func(inst *instance, f *manualRun) error {
			_, err := inst.svc.CancelTask(context.Background(), maya, f.TaskID, "")
			return err
		}, supervise.ErrTaskClosed, "canceled/task_closed"},
	} {
		t.Run(tt.name+" is stopped at once and keeps its state", func(t *testing.T) {
			t.Parallel()
			inst := newInstance(t, setup{jobs: func(o *Options) { o.Beat = time.Hour }})
			inst.create("coder")
			f := inst.next()
			if err := tt.act(inst, f); err != nil {
				t.Fatal(err)
			}
			select {
			case <-f.ctx.Done():
			case <-time.After(patience):
				t.Fatal("the run was not stopped")
			}
			if cause := context.Cause(f.ctx); !errors.Is(cause, tt.cause) {
				t.Errorf("stopped by %v, want %v", cause, tt.cause)
			}
			f.finish(stoppedBy(f))
			testkit.EventuallyWithin(inst.t, patience, "the run is finished", func() bool { return len(inst.busy()) == 0 })
			if got := inst.run(f.RunID).State().String(); got != tt.state {
				t.Errorf("got %s, want %s", got, tt.state)
			}
		})
	}
	t.Run("the task's next run waits until the stopped run has ended", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t, setup{})
		tk := inst.create("coder")
		f := inst.next()
		if _, err := inst.svc.CancelRun(t.Context(), maya, f.RunID, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := inst.svc.RunNow(t.Context(), maya, tk.ID); err != nil {
			t.Fatal(err)
		}
		<-f.ctx.Done()
		inst.checkRunning(0)
		f.finish(stoppedBy(f))
		again := inst.next()
		if again.TaskID != tk.ID {
			t.Errorf("got a run of task %d", again.TaskID)
		}
		again.complete()
	})
	t.Run("an unconfigured runner is a permanent failure", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t, setup{cfg: func(c *service.Config) { c.Runner = nil }, stopped: true})
		tk := inst.create("coder")
		inst.start()
		testkit.EventuallyWithin(inst.t, patience, "the task needs a person", func() bool {
			now, err := inst.svc.Task(t.Context(), maya, tk.ID)
			return err == nil && now.Failures == 3
		})
	})
}

func TestACancelDuringTheStartIsNotLoggedAsAnError(t *testing.T) {
	t.Parallel()
	log := &testkit.Buffer{}
	inst := newInstance(t, setup{stopped: true, jobs: func(o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) }})
	inst.manualRunner.starting = func(spec supervise.Spec) {
		if _, err := inst.svc.CancelRun(context.Background(), maya, spec.RunID, "not needed"); err != nil {
			t.Error(err)
		}
	}
	inst.create("coder")
	inst.start()
	inst.awaitRun(1, "canceled/by")
	inst.end()
	if got := log.String(); strings.Contains(got, "level=ERROR") || !strings.Contains(got, "run ended") {
		t.Errorf("got log:\n%s", got)
	}
}

func TestStopRequeuesRuns(t *testing.T) {
	t.Parallel()
	t.Run("running runs are queued again without counting the attempt, and nothing starts", func(t *testing.T) {
		inst := newInstance(t, setup{agents: map[string]string{"coder": "max_parallel: 2"}})
		for range 3 {
			inst.create("coder")
		}
		a, b := inst.next(), inst.next()
		inst.end()
		for _, f := range []*manualRun{a, b} {
			if cause := context.Cause(f.ctx); !errors.Is(cause, supervise.ErrShutdown) {
				t.Errorf("stopped by %v", cause)
			}
			if r := inst.run(f.RunID); r.State().String() != "pending/queued" || r.Attempt != 1 || r.PID != 0 {
				t.Errorf("run %d: got %s, attempt %d", r.ID, r.State(), r.Attempt)
			}
		}
		inst.start()
		for range 2 {
			inst.next().complete()
		}
		inst.next().complete()
	})
	t.Run("Stop returns when its context ends, even if a run does not end", func(t *testing.T) {
		inst := newInstance(t, setup{})
		inst.create("coder")
		f := inst.next()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := inst.jobs.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		f.finish(stoppedBy(f))
		inst.awaitRun(f.RunID, "pending/queued")
	})
}
