// Package jobs schedules the background jobs of the instance and executes runs.
// Only this package imports gocron, which merely fires at the right times; each
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

// Options configures the jobs and how runs are executed.
type Options struct {
	Service    *service.Service
	Secrets    func() []string // values that must never appear in a transcript; nil: there are none
	URL        string          // the server's URL for runs
	PublicURL  string          // the server's URL for people, for links in notices
	RunsDir    string          // parent of the private folders of runs
	Plan       Plan
	Unconfined bool                          // run the setup of a worktree even if nothing can confine it
	Copied     bool                          // the data folder is a copy: processes of earlier runs may belong to another server
	Recovered  func() error                  // called after the runs of the previous server have been ended, before any starts
	Notify     []Outlet                      // external services to notify, until Retarget
	TryAgain   func(tries int) time.Duration // delay after a failed message; negative: never; default: for about an hour
	Beat       time.Duration                 // interval between heartbeats of a run; default 10 s
	Now        func() time.Time              // the wall clock; default time.Now
	Log        *slog.Logger
}

// Plan configures the times of the scheduled jobs.
type Plan struct {
	Enabled  bool   // ticks are enabled
	Cron     string // cron line of the tick, five fields
	Location *time.Location
	Backup   Backup
}

// job is one row of the table.
type job struct {
	name, about string
	every       time.Duration // alternative to cron
	cron        string
	everyServer bool // runs on each server of a shared database, not only on the leader
	recorded    bool // record each run in the database, for jobs that run rarely
	run         func(context.Context) error
}

// table lists all background jobs. Each is one call that is safe to repeat.
func (j *Jobs) table(p *Plan) []job {
	svc := j.opt.Service
	count := func(fn func(context.Context) (int, error)) func(context.Context) error {
		return func(ctx context.Context) error { _, err := fn(ctx); return err }
	}
	list := []job{
		{name: "claims", about: "releases claims whose lease has expired", every: 5 * time.Second, run: count(svc.ReleaseExpired)},
		{name: "approvals", about: "expires approvals that were not given in time", every: 15 * time.Second, run: count(svc.ExpireApprovals)},
		{name: "snoozes", about: "returns snoozed items to the inbox", every: 5 * time.Second, run: count(svc.WakeSnoozed)},
		{name: "reaper", about: "stops runs whose runner sent no heartbeat", every: reapEvery, run: j.endExpired},
		{name: "tokens", about: "records when tokens were last used", every: time.Minute, everyServer: true, run: svc.FlushTokenUse},
		{name: "statistics", about: "aggregates runs by hour", every: 5 * time.Minute, run: svc.RollUp},
		{name: "sweep", about: "drops old sessions, answers and transcripts", every: time.Hour, recorded: true, run: svc.Sweep},
		{name: "reviews", about: "reminds of results that have waited too long for people", every: time.Minute, run: count(svc.RemindReviewers)},
		{
			name: "branches", about: "deletes the branches of tasks that were merged long ago",
			every: time.Hour, recorded: true, run: count(svc.RetireBranches),
		},
		{
			name: "folders", about: "removes the folders of runs that ended long ago", every: time.Hour,
			everyServer: true, recorded: true, run: j.folders,
		},
	}
	if p.Enabled {
		list = append([]job{{name: task.JobTick, about: "queues a run for each task that may run", cron: p.Cron, run: j.tick("cron")}}, list...)
	}
	if p.Backup.Cron != "" {
		list = append(list, job{
			name: task.JobBackup, about: "writes the whole instance to an archive",
			cron: p.Backup.Cron, recorded: true, run: j.backup,
		})
	}
	return list
}

const (
	reapEvery       = 5 * time.Second
	recoverInterval = 2 * time.Second // while the store cannot be written at startup
)

// Jobs runs the background jobs and executes runs. It is safe for concurrent
// use.
type Jobs struct {
	opt   Options
	log   *slog.Logger
	clock *clock
	plan  atomic.Pointer[Plan]

	ctx    context.Context
	cancel context.CancelFunc
	loops  sync.WaitGroup

	mu      sync.Mutex
	busy    map[task.ID]bool // tasks whose process has not ended
	flights sync.WaitGroup
	closing bool
	started time.Time    // by wall clock
	outlets *outletLoops // nil before the start
	killed  atomic.Int64
	copied  atomic.Bool // processes of runs may belong to another server, until recovery is done
	stopRun context.CancelCauseFunc
	runCtx  context.Context
}

// New returns Jobs with the given options; Start starts them.
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
		opt.TryAgain = retryDelay
	}
	j := &Jobs{opt: opt, log: opt.Log, started: time.Now().Round(0), busy: map[task.ID]bool{}}
	j.plan.Store(&opt.Plan)
	j.copied.Store(opt.Copied)
	// Create it here, not in Start: people may start a job before Start has
	// finished.
	j.ctx, j.cancel = context.WithCancel(context.Background())
	j.runCtx, j.stopRun = context.WithCancelCause(context.Background())
	var err error
	if j.clock, err = newClock(j.table(&opt.Plan), opt.Plan.Location, j.note, opt.Log); err != nil {
		return nil, err
	}
	j.clock.check, j.clock.lead, j.clock.did = opt.Service.CheckClock, opt.Service.Lead, opt.Service.JobDone
	if opt.Now != nil {
		j.clock.wall = func() time.Time { return opt.Now().Round(0) }
	}
	return j, nil
}

// Start ends the runs that a previous server left, then starts the jobs and
// dispatches runs. It does not wait for them.
func (j *Jobs) Start(ctx context.Context) error {
	unwell := j.recover(ctx)
	if unwell != nil && j.opt.Service.Fault() == nil {
		return fmt.Errorf("recover runs: %w", unwell)
	}
	if err := j.clock.start(j.ctx); err != nil {
		return err
	}
	if j.opt.Service.Resumed() {
		j.clock.runMissed(j.ctx, restartLimit)
	}
	j.loops.Go(func() { j.opt.Service.Follow(j.ctx) })
	j.loops.Go(func() {
		if j.waitRecovered(unwell) {
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

// waitRecovered retries ending the runs of the previous server until the store can
// be written, for example if the disk was full at startup. It returns false if
// the clock stops before that.
func (j *Jobs) waitRecovered(err error) bool {
	for err != nil {
		j.log.Error("runs of the former server not ended yet; nothing is started before", "error", err)
		if !sleep.For(j.ctx, recoverInterval) {
			return false
		}
		err = j.recover(j.ctx)
	}
	return true
}

// Retire stops claiming runs. Call Stop afterwards.
func (j *Jobs) Retire() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closing = true
}

// Stop stops claiming runs, stops running ones (they return to the queue), and
// stops the clock. It returns when no process is left or ctx ends.
func (j *Jobs) Stop(ctx context.Context) error {
	j.Retire()
	j.stopRun(supervise.ErrShutdown)
	stopped := make(chan struct{})
	go func() { j.flights.Wait(); close(stopped) }()
	var err error
	select {
	case <-stopped:
	case <-ctx.Done():
		err = fmt.Errorf("runs still stopping: %w", ctx.Err())
	}
	j.cancel()
	j.loops.Wait()
	j.clock.stop()
	return err
}

// note records a run of a job: rare jobs in the database, failures in the log.
func (j *Jobs) note(jb job, took time.Duration, err error) {
	if err != nil {
		j.log.Error("job failed", "job", jb.name, "error", err)
	}
	if !jb.recorded {
		return
	}
	if err := j.opt.Service.NoteJob(j.ctx, jb.name, took, err); err != nil {
		j.log.Error("failed to store the job", "job", jb.name, "error", err)
	}
}

// NextTick returns when the next tick is planned, 0 for never.
func (j *Jobs) NextTick() task.Time { return j.clock.next("tick") }

// Reschedule replaces the plan of the jobs, except how backups are made.
// Running jobs finish. It returns an error if a line of the plan cannot be
// parsed; the previous plan then stays.
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

// Ticks returns a function that returns the first tick after a time, 0 for
// none. It returns an error if the line cannot be parsed.
func Ticks(line string, loc *time.Location) (func(after task.Time) task.Time, error) {
	w, err := newWallCron(line, loc)
	if err != nil {
		return nil, err
	}
	return func(after task.Time) task.Time {
		return task.TimeFromStd(w.Next(after.Std())) // the zero time is 0
	}, nil
}

// Window describes when ticks occur.
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

// NextTicks returns when the next n ticks are planned, fewer if there are not
// that many.
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

// RunJob starts a job now. The tick can be started even if ticks are disabled.
// It returns NotFound for an unknown name.
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
		j.opt.Service.Hub().Publish([]string{"scheduler"}) // the page updates for the person who asked
	}()
	return nil
}

// Alive reports whether the clock is running: its watchdog has looked recently.
func (j *Jobs) Alive() bool { return j.clock.alive() }
