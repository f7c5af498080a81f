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
	// The program after a backup is started by helpers from this very binary.
	if code, ok := runner.HelperMain(os.Args[1:]); ok {
		testkit.EndHelper(code)
	}
	goleak.VerifyTestMain(m)
}

const patience = 30 * time.Second // the machine may be busy

var maya = task.Actor{Name: "user:maya", Role: task.RoleAdmin, UserID: 1}

// flight is a run that the test executes by hand, in the place of an agent
// program.
type flight struct {
	supervise.Spec
	sink supervise.Sink
	ctx  context.Context
	end  chan supervise.Outcome
}

// land ends the flight.
func (f *flight) land(o supervise.Outcome) { f.end <- o }

func (f *flight) complete() {
	f.land(supervise.Outcome{Status: task.RunCompleted, Phase: task.PhaseEnded, Summary: "done"})
}

func (f *flight) fail() {
	f.land(supervise.Outcome{Status: task.RunFailed, Phase: task.PhaseError, Reason: "it went wrong"})
}

// tower is a runner that hands its runs to the test. A run that is stopped
// stays until the test lets it land, as a program that takes its time.
type tower struct {
	flights  chan *flight
	starting func(supervise.Spec) // called before a run is reported as started; may be nil
}

func (w *tower) Probe(context.Context) supervise.Probe { return supervise.Probe{Installed: true} }

func (w *tower) Run(ctx context.Context, spec supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	f := &flight{Spec: spec, sink: sink, ctx: ctx, end: make(chan supervise.Outcome)}
	if w.starting != nil {
		w.starting(spec)
	}
	if err := sink.Started(supervise.Process{}); err != nil {
		return supervise.Outcome{Status: task.RunFailed, Phase: task.PhaseError, Reason: "not recorded"}, err
	}
	w.flights <- f
	return <-f.end, nil
}

// instance is a service with a clock over a real database.
type instance struct {
	t     *testing.T
	db    *db.DB
	svc   *service.Service
	jobs  *Jobs
	tower *tower
	dir   string
	opt   Options
	end   func()         // stops the jobs, once
	seen  []*flight      // by the test
	clock *testkit.Clock // of service and database
}

// setup says how an instance differs from the usual one.
type setup struct {
	cfg     func(*service.Config) // may be nil
	jobs    func(*Options)
	agents  map[string]string // id → lines of the front matter
	ahead   time.Duration     // of the service's clock before the database's
	stopped bool              // the test starts the jobs itself
	db      func(*db.Options)
}

func newInstance(t *testing.T, s setup) *instance {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	if s.db == nil {
		s.db = func(*db.Options) {}
	}
	inst := &instance{t: t, clock: testkit.RunningClock(), tower: &tower{flights: make(chan *flight, 100)}, dir: t.TempDir()}
	inst.db = dbtest.New(t, func(o *db.Options) { o.Now = inst.clock.Now }, s.db)
	if s.agents == nil {
		s.agents = map[string]string{"coder": ""}
	}
	err := inst.db.Write(t.Context(), func(tx *db.Tx) error { // token 1, of a worker
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
		return service.Runner{Executor: inst.tower}
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

// start makes the jobs and starts them; at the end of the test they stop, and
// what is still in the air lands.
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

// stop stops the jobs while every flight that is stopped lands by itself.
func (inst *instance) stop() {
	done := make(chan struct{})
	for _, f := range inst.seen {
		go inst.landStopped(f, done)
	}
	go func() {
		for {
			select {
			case f := <-inst.tower.flights:
				go inst.landStopped(f, done)
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

func (inst *instance) landStopped(f *flight, done chan struct{}) {
	select {
	case <-f.ctx.Done():
		select {
		case f.end <- stoppedBy(f):
		case <-done:
		}
	case <-done:
	}
}

// stoppedBy is the outcome of a flight that its context stopped.
func stoppedBy(f *flight) supervise.Outcome {
	phase := map[error]task.Phase{
		supervise.ErrCanceled: task.PhaseBy, supervise.ErrTaskClosed: task.PhaseTaskClosed,
		supervise.ErrShutdown: task.PhaseShutdown,
	}[context.Cause(f.ctx)]
	return supervise.Outcome{Status: task.RunCanceled, Phase: phase, Reason: context.Cause(f.ctx).Error()}
}

// create makes an active task, which wakes its owner.
func (inst *instance) create(owner string) *task.Task {
	inst.t.Helper()
	tk, err := inst.svc.CreateTask(inst.t.Context(), maya, task.New{Title: "Do it", Owner: owner})
	if err != nil {
		inst.t.Fatal(err)
	}
	return tk
}

// next waits for the next flight.
func (inst *instance) next() *flight {
	inst.t.Helper()
	select {
	case f := <-inst.tower.flights:
		inst.seen = append(inst.seen, f)
		return f
	case <-time.After(patience):
		inst.t.Fatal("no run started")
		return nil
	}
}

// only checks that n runs run and that no further one may start.
func (inst *instance) only(n int) {
	inst.t.Helper()
	start, _, err := inst.svc.NextRun(inst.t.Context(), inst.busy())
	if err != nil || start != nil {
		inst.t.Errorf("a further run may start: %v, %v", start, err)
	}
	st, err := inst.svc.Scheduler(inst.t.Context(), maya)
	if err != nil || len(st.Running) != n {
		inst.t.Errorf("%d runs are running, %v; want %d", len(st.Running), err, n)
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
