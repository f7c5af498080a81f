// Package jobs is the clock of the instance and the place where runs are carried
// out. Only it knows gocron, which does nothing but call at its time; each
// job calls one service method that is safe to run twice.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"taskyard/internal/sleep"
	"taskyard/runner/supervise"
	"taskyard/service"
	"taskyard/task"
)

// Options say what the clock does and with what.
type Options struct {
	Service    *service.Service
	Secrets    func() []string // those that never appear in a transcript; nil: there are none
	URL        string          // under which runs reach the server
	PublicURL  string          // under which people reach it, for the links of notices
	RunsDir    string          // a private folder of each run is made below it
	Plan       Plan
	Unconfined bool                          // the setup of a worktree runs where nothing can confine it, too
	Copied     bool                          // the data folder is a copy: processes of earlier runs may be another server's
	Recovered  func() error                  // called when the runs of a former server have ended, before any starts
	Notify     []Outlet                      // external services that are notified of what waits, until Retarget
	TryAgain   func(tries int) time.Duration // after a message that was not sent; negative: never; default: for about an hour
	Beat       time.Duration                 // between heartbeats of a run; default 10 s
	Now        func() time.Time              // the wall clock; default time.Now
	Log        *slog.Logger
}

// Plan says when the jobs come whose times are configured.
type Plan struct {
	Enabled  bool   // ticks
	Cron     string // of the tick, five fields
	Location *time.Location
	Backup   Backup
}

// job is one row of the table.
type job struct {
	name, about string
	every       time.Duration // or
	cron        string
	each        bool // by each of the servers that share a database, not by one of them
	keep        bool // note each run in the database, for the jobs that run rarely
	run         func(context.Context) error
}

// table names every background job. Each is one call that is safe to repeat.
func (j *Jobs) table(p *Plan) []job {
	svc := j.opt.Service
	count := func(fn func(context.Context) (int, error)) func(context.Context) error {
		return func(ctx context.Context) error { _, err := fn(ctx); return err }
	}
	list := []job{
		{name: "claims", about: "releases claims whose lease has expired", every: 5 * time.Second, run: count(svc.ReleaseExpired)},
		{name: "approvals", about: "expires approvals that were not given in time", every: 15 * time.Second, run: count(svc.ExpireApprovals)},
		{name: "snoozes", about: "returns snoozed items to the inbox", every: 5 * time.Second, run: count(svc.WakeSnoozed)},
		{name: "reaper", about: "stops runs whose runner sent no heartbeat", every: reapEvery, run: j.reap},
		{name: "tokens", about: "records when tokens were last used", every: time.Minute, each: true, run: svc.FlushTokenUse},
		{name: "statistics", about: "aggregates runs by hour", every: 5 * time.Minute, run: svc.RollUp},
		{name: "sweep", about: "drops old sessions, answers and transcripts", every: time.Hour, keep: true, run: svc.Sweep},
		{name: "reviews", about: "reminds of results that have waited too long for people", every: time.Minute, run: count(svc.RemindReviewers)},
		{
			name: "branches", about: "deletes the branches of tasks that were merged long ago",
			every: time.Hour, keep: true, run: count(svc.RetireBranches),
		},
		{name: "folders", about: "removes the folders of runs that ended long ago", every: time.Hour, each: true, keep: true, run: j.folders},
	}
	if p.Enabled {
		list = append([]job{{name: task.JobTick, about: "queues a run for each task that may run", cron: p.Cron, run: j.tick("cron")}}, list...)
	}
	if p.Backup.Cron != "" {
		list = append(list, job{
			name: task.JobBackup, about: "writes the whole instance to an archive",
			cron: p.Backup.Cron, keep: true, run: j.backup,
		})
	}
	return list
}

const (
	reapEvery    = 5 * time.Second
	recoverAgain = 2 * time.Second // while the store cannot be written at the start
)

// Jobs is the running clock. It is safe for concurrent use.
type Jobs struct {
	opt   Options
	log   *slog.Logger
	clock *clock
	plan  atomic.Pointer[Plan]

	ctx    context.Context
	cancel context.CancelFunc
	loops  sync.WaitGroup

	mu      sync.Mutex
	busy    map[task.ID]bool // tasks whose process is not gone yet
	flights sync.WaitGroup
	closing bool
	started time.Time    // by the wall clock
	outlets *outletLoops // nil until it starts
	killed  atomic.Int64
	copied  atomic.Bool // processes of runs may be another server's, until it has recovered
	stopRun context.CancelCauseFunc
	runCtx  context.Context
}

// New makes the clock; Start lets it run.
func New(opt Options) (*Jobs, error) {
	if opt.Log == nil {
		opt.Log = slog.Default()
	}
	if opt.Plan.Location == nil {
		opt.Plan.Location = time.Local
	}
	if opt.Beat == 0 {
		opt.Beat = 10 * time.Second
	}
	if opt.Secrets == nil {
		opt.Secrets = func() []string { return nil }
	}
	if opt.TryAgain == nil {
		opt.TryAgain = tryAgain
	}
	j := &Jobs{opt: opt, log: opt.Log, started: time.Now().Round(0), busy: map[task.ID]bool{}}
	j.plan.Store(&opt.Plan)
	j.copied.Store(opt.Copied)
	// Made here, not in Start: people may ask for a job before that is through.
	j.ctx, j.cancel = context.WithCancel(context.Background())
	j.runCtx, j.stopRun = context.WithCancelCause(context.Background())
	var err error
	if j.clock, err = newClock(j.table(&opt.Plan), opt.Plan.Location, j.note, opt.Log); err != nil {
		return nil, err
	}
	j.clock.look, j.clock.lead, j.clock.did = opt.Service.CheckClock, opt.Service.Lead, opt.Service.JobDone
	if opt.Now != nil {
		j.clock.wall = func() time.Time { return opt.Now().Round(0) }
	}
	return j, nil
}

// Start ends what a former server left behind, then lets the clock turn and
// dispatches runs. It returns once that is under way.
func (j *Jobs) Start(ctx context.Context) error {
	unwell := j.recover(ctx)
	if unwell != nil && j.opt.Service.Fault() == nil {
		return fmt.Errorf("recover runs: %w", unwell)
	}
	if err := j.clock.start(j.ctx); err != nil {
		return err
	}
	j.loops.Go(func() { j.opt.Service.Follow(j.ctx) })
	j.loops.Go(func() {
		if j.recovered(unwell) {
			j.dispatch()
		}
	})
	j.loops.Go(j.index)
	for range mergers {
		j.loops.Go(j.merge)
	}
	j.Retarget(j.opt.Notify)
	return nil
}

// recovered tries to end the runs of a former server until the store takes it,
// as when the disk was full at the start. It reports false when the clock
// stops before.
func (j *Jobs) recovered(err error) bool {
	for err != nil {
		j.log.Error("runs of the former server not ended yet; nothing is started before", "error", err)
		if !sleep.For(j.ctx, recoverAgain) {
			return false
		}
		err = j.recover(j.ctx)
	}
	return true
}

// Retire claims no further runs from now on. Stop follows.
func (j *Jobs) Retire() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closing = true
}

// Stop claims no further runs, stops those that run (they go back into the
// queue), and ends the clock. It returns when no process is left or ctx ends.
func (j *Jobs) Stop(ctx context.Context) error {
	j.Retire()
	j.stopRun(supervise.ErrShutdown)
	gone := make(chan struct{})
	go func() { j.flights.Wait(); close(gone) }()
	var err error
	select {
	case <-gone:
	case <-ctx.Done():
		err = fmt.Errorf("runs still stopping: %w", ctx.Err())
	}
	j.cancel()
	j.loops.Wait()
	j.clock.stop()
	return err
}

// note records a run of a job: rare ones in the database, failures in the log.
func (j *Jobs) note(jb job, took time.Duration, err error) {
	if err != nil {
		j.log.Error("job failed", "job", jb.name, "error", err)
	}
	if !jb.keep {
		return
	}
	if err := j.opt.Service.NoteJob(j.ctx, jb.name, took, err); err != nil {
		j.log.Error("failed to store the job", "job", jb.name, "error", err)
	}
}

// NextTick is when the next tick is planned, 0 for never.
func (j *Jobs) NextTick() task.Time { return j.clock.next("tick") }

// Reschedule has the jobs come by another plan from now on; how backups are made
// stays. What runs now runs to its end. Error: a line of the plan cannot be read;
// the former one is in use.
func (j *Jobs) Reschedule(p Plan) error {
	backup := j.plan.Load().Backup
	backup.Cron, backup.Keep = p.Backup.Cron, p.Backup.Keep
	p.Backup = backup
	if err := j.clock.replace(j.ctx, j.table(&p), p.Location); err != nil {
		return err
	}
	j.plan.Store(&p)
	return nil
}

// Ticks returns the plan of a cron line: the first tick after a moment, 0 for
// none. Error: the line cannot be read.
func Ticks(line string, loc *time.Location) (func(after task.Time) task.Time, error) {
	w, err := newWallCron(line, loc)
	if err != nil {
		return nil, err
	}
	return func(after task.Time) task.Time {
		return task.TimeFromStd(w.Next(after.Std())) // the zero time is 0
	}, nil
}

// Window says in words when ticks come.
func (j *Jobs) Window() string {
	p := j.plan.Load()
	if !p.Enabled {
		return "off: no ticks and no wakes"
	}
	words, zone := cronText(p.Cron), p.Location.String()
	if words == "" {
		words = p.Cron
	}
	if zone == "Local" {
		zone = "time of the server"
	}
	return words + ", " + zone
}

// NextTicks returns when the next n ticks are planned; fewer, or none, where
// there are no more.
func (j *Jobs) NextTicks(n int) []task.Time {
	var list []task.Time
	first := j.NextTick()
	if first == 0 {
		return list
	}
	p := j.plan.Load()
	after, err := Ticks(p.Cron, p.Location)
	if err != nil {
		return list
	}
	for t := first; t != 0 && len(list) < n; t = after(t) {
		list = append(list, t)
	}
	return list
}

// Jobs lists every background job.
func (j *Jobs) Jobs() []task.JobInfo { return j.clock.infos() }

// RunJob starts a job now. The tick may be started even where ticks are off.
// Errors: NotFound for an unknown name.
func (j *Jobs) RunJob(name string) error {
	jb, err := j.clock.find(name)
	if name == "tick" {
		jb, err = job{name: "tick", run: j.tick("manual")}, nil
	}
	if err != nil {
		return err
	}
	go func() {
		j.clock.once(j.ctx, jb)
		j.opt.Service.Hub().Publish([]string{"scheduler"}) // who asked looks at the page
	}()
	return nil
}

// Alive reports whether the clock turns: its watchdog looked lately.
func (j *Jobs) Alive() bool { return j.clock.alive() }
