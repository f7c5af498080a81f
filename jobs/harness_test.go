package jobs

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/internal/agentfile"
	"taskyard/internal/testkit"
	"taskyard/runner"
	"taskyard/runner/supervise"
	"taskyard/service"
	"taskyard/task"
)

func TestMain(m *testing.M) {
	// Helper processes of this binary start the program after a backup.
	if code, ok := runner.HelperMain(os.Args[1:]); ok {
		testkit.EndHelper(code)
	}
	goleak.VerifyTestMain(m)
}

const patience = 30 * time.Second // the machine may be busy

var maya = task.Actor{Name: "user:maya", Role: task.RoleAdmin, UserID: 1}

// manualRun is a run that the test executes in place of an agent program.
type manualRun struct {
	supervise.Spec
	sink supervise.Sink
	ctx  context.Context
	end  chan supervise.Outcome
}

// finish ends the run.
func (f *manualRun) finish(o supervise.Outcome) { f.end <- o }

func (f *manualRun) complete() {
	f.finish(supervise.Outcome{Status: task.RunCompleted, Phase: task.PhaseEnded, Summary: "done"})
}

func (f *manualRun) fail() {
	f.finish(supervise.Outcome{Status: task.RunFailed, Phase: task.PhaseError, Reason: "it went wrong"})
}

// manualRunner is a runner that passes its runs to the test. A stopped run stays until the
// test ends it, like a program that takes time to exit.
type manualRunner struct {
	runs     chan *manualRun
	starting func(supervise.Spec) // called before a run is reported as started; may be nil
}

func (w *manualRunner) Probe(context.Context) supervise.Probe {
	return supervise.Probe{Installed: true}
}

func (w *manualRunner) Run(ctx context.Context, spec supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	f := &manualRun{Spec: spec, sink: sink, ctx: ctx, end: make(chan supervise.Outcome)}
	if w.starting != nil {
		w.starting(spec)
	}
	if err := sink.Started(supervise.Process{}); err != nil {
		return supervise.Outcome{Status: task.RunFailed, Phase: task.PhaseError, Reason: "not recorded"}, err
	}
	w.runs <- f
	return <-f.end, nil
}

// instance is a service with a clock over a real database.
type instance struct {
	t            *testing.T
	db           *db.DB
	svc          *service.Service
	jobs         *Jobs
	manualRunner *manualRunner
	dir          string
	opt          Options
	end          func()         // stops the jobs, once
	seen         []*manualRun   // runs that the test received
	clock        *testkit.Clock // of service and database
}

// setup overrides the defaults of an instance.
type setup struct {
	cfg     func(*service.Config) // may be nil
	jobs    func(*Options)
	agents  map[string]string // id → lines of the front matter
	ahead   time.Duration     // by which the service's clock is ahead of the database's
	stopped bool              // the test starts the jobs itself
	db      func(*db.Options)
}

func newInstance(t *testing.T, s setup) *instance {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	if s.db == nil {
		s.db = func(*db.Options) {}
	}
	inst := &instance{t: t, clock: testkit.RunningClock(), manualRunner: &manualRunner{runs: make(chan *manualRun, 100)}, dir: t.TempDir()}
	inst.db = dbtest.New(t, func(o *db.Options) { o.Now = inst.clock.Now }, s.db)
	if s.agents == nil {
		s.agents = map[string]string{"coder": ""}
	}
	err := inst.db.Write(t.Context(), func(tx *db.Tx) error { // token 1, for a worker
		_, err := tx.InsertToken(task.Token{Name: "box", Scope: task.ScopeWorker, CreatedBy: maya.Name}, []byte("box"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, lines := range s.agents {
		text := "---\nname: " + id + "\ndescription: for tests\ntools: read\nrunner: hand\n" + lines + "\n---\nWork.\n"
		testkit.WriteAgents(t, inst.dir, map[string]string{id: text})
	}
	agents := testkit.OpenAgents(t, inst.dir, &agentfile.Options{
		Runners: map[string]task.RunnerKind{"hand": {}, "none": {}, "lost": {}}, DefaultRunner: "hand",
	})
	cfg := service.Config{Rules: testkit.Rules(), Log: quiet, Now: func() time.Time { return inst.clock.Now().Add(s.ahead) }}
	cfg.Wakes = true
	cfg.Runner = func(name string) service.Runner {
		if name != "hand" {
			return service.Runner{}
		}
		return service.Runner{Executor: inst.manualRunner}
	}
	if s.cfg != nil {
		s.cfg(&cfg)
	}
	inst.svc = service.New(inst.db, agents, cfg)
	inst.opt = Options{
		Service: inst.svc, RunsDir: t.TempDir(),
		Plan: Plan{Cron: "0 0 1 1 *", Location: time.UTC},
		Beat: 50 * time.Millisecond, Log: quiet,
	}
	if s.jobs != nil {
		s.jobs(&inst.opt)
	}
	if !s.stopped {
		inst.start()
	}
	return inst
}

// start creates and starts the jobs. At the end of the test they are stopped, which
// ends the remaining runs.
func (inst *instance) start() {
	inst.t.Helper()
	var err error
	if inst.jobs, err = New(inst.opt); err != nil {
		inst.t.Fatal(err)
	}
	if err := inst.jobs.Start(inst.t.Context()); err != nil {
		inst.t.Fatal(err)
	}
	inst.end = sync.OnceFunc(inst.stop)
	inst.t.Cleanup(inst.end)
}

// stop stops the jobs, and every stopped run ends by itself.
func (inst *instance) stop() {
	done := make(chan struct{})
	for _, f := range inst.seen {
		go inst.finishStopped(f, done)
	}
	go func() {
		for {
			select {
			case f := <-inst.manualRunner.runs:
				go inst.finishStopped(f, done)
			case <-done:
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := inst.jobs.Stop(ctx); err != nil {
		inst.t.Errorf("stop: %v", err)
	}
	close(done)
}

func (inst *instance) finishStopped(f *manualRun, done chan struct{}) {
	select {
	case <-f.ctx.Done():
		select {
		case f.end <- stoppedBy(f):
		case <-done:
		}
	case <-done:
	}
}

// stoppedBy returns the outcome of a run whose context was canceled.
func stoppedBy(f *manualRun) supervise.Outcome {
	phase := map[error]task.Phase{
		supervise.ErrCanceled: task.PhaseBy, supervise.ErrTaskClosed: task.PhaseTaskClosed,
		supervise.ErrShutdown: task.PhaseShutdown,
	}[context.Cause(f.ctx)]
	return supervise.Outcome{Status: task.RunCanceled, Phase: phase, Reason: context.Cause(f.ctx).Error()}
}

// create creates an active task, which wakes its owner.
func (inst *instance) create(owner string) *task.Task {
	inst.t.Helper()
	tk, err := inst.svc.CreateTask(inst.t.Context(), maya, task.New{Title: "Do it", Owner: owner})
	if err != nil {
		inst.t.Fatal(err)
	}
	return tk
}

// next waits for the next run.
func (inst *instance) next() *manualRun {
	inst.t.Helper()
	select {
	case f := <-inst.manualRunner.runs:
		inst.seen = append(inst.seen, f)
		return f
	case <-time.After(patience):
		inst.t.Fatal("no run started")
		return nil
	}
}

// checkRunning checks that n runs are running and that no other may start.
func (inst *instance) checkRunning(n int) {
	inst.t.Helper()
	start, _, err := inst.svc.NextRun(inst.t.Context(), inst.busy())
	if err != nil || start != nil {
		inst.t.Errorf("another run may start: %v, %v", start, err)
	}
	st, err := inst.svc.Scheduler(inst.t.Context(), maya)
	if err != nil || len(st.Running) != n {
		inst.t.Errorf("got %d running runs, %v; want %d", len(st.Running), err, n)
	}
}

func (inst *instance) busy() map[task.ID]bool {
	return inst.jobs.inFlight()
}

func (inst *instance) run(id task.ID) *task.Run {
	inst.t.Helper()
	r, err := inst.svc.Run(context.Background(), maya, id)
	if err != nil {
		inst.t.Fatal(err)
	}
	return r
}

// awaitRun waits until a run is in a state.
func (inst *instance) awaitRun(id task.ID, state string) *task.Run {
	inst.t.Helper()
	var r *task.Run
	testkit.EventuallyWithin(inst.t, patience, "run "+id.String()+" is "+state, func() bool {
		r = inst.run(id)
		return r.State().String() == state
	})
	return r
}

func (inst *instance) transcript(id task.ID) []task.Message {
	inst.t.Helper()
	var all []task.Message
	for after := task.ID(0); ; {
		list, err := inst.svc.Transcript(context.Background(), maya, id, after, 500)
		if err != nil {
			inst.t.Fatal(err)
		}
		if len(list) == 0 {
			return all
		}
		all, after = append(all, list...), list[len(list)-1].ID
	}
}
