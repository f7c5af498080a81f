package jobs

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-co-op/gocron/v2"

	"taskyard/internal/sleep"
	"taskyard/task"
)

const (
	watchEvery   = time.Second
	jumpLimit    = 5 * time.Second // difference of wall and monotonic clock
	stopLimit    = 5 * time.Second
	checkTimeout = 2 * time.Second

	// standByLimit is how long a job may wait for a leading server. A later
	// tick can be skipped, because the next one follows soon.
	standByLimit = 5 * time.Minute
	// restartLimit is how long ago a job may have been due that was missed while the
	// leader restarted: at most its lease.
	restartLimit = 15 * time.Second
	// maxClockSkew is how far the clock of the server that did a job may lag
	// behind ours. Cron lines fire at most once a minute.
	maxClockSkew = 30 * time.Second
)

// clock runs the table of jobs. gocron stops firing after the wall clock steps
// back; a watchdog on the monotonic clock then rebuilds its schedule.
type clock struct {
	table []job
	loc   *time.Location
	note  func(job, time.Duration, error)
	log   *slog.Logger
	wall  func() time.Time            // stripped of its monotonic reading
	check func(context.Context) error // called on every turn of the watchdog
	lead  func(context.Context) (context.Context, bool)
	did   func(ctx context.Context, name string, since time.Time) (bool, error)

	mu        sync.Mutex
	cron      gocron.Scheduler
	ids       map[string]gocron.Job
	state     map[string]*task.JobInfo
	lastCheck atomic.Int64 // Unix nanoseconds of the watchdog's last turn
	ended     chan struct{}
	running   sync.WaitGroup // running jobs; added to under mu while the context lasts
}

func newClock(table []job, loc *time.Location, note func(job, time.Duration, error), log *slog.Logger) (*clock, error) {
	c := &clock{
		table: table, loc: loc, note: note, log: log, wall: func() time.Time { return time.Now().Round(0) },
		check: func(context.Context) error { return nil },
		did:   func(context.Context, string, time.Time) (bool, error) { return false, nil },
		lead:  func(ctx context.Context) (context.Context, bool) { return ctx, true },
		state: map[string]*task.JobInfo{}, ended: make(chan struct{}),
	}
	return c, c.describe(table, loc)
}

// describe creates the info of each job in a table. It returns an error if a
// cron line cannot be parsed; nothing is changed then.
func (c *clock) describe(table []job, loc *time.Location) error {
	for _, jb := range table {
		if jb.every == 0 {
			if _, err := newWallCron(jb.cron, loc); err != nil {
				return err
			}
		}
	}
	for _, jb := range table {
		info := c.state[jb.name]
		if info == nil {
			info = &task.JobInfo{Name: jb.name}
			c.state[jb.name] = info
		}
		info.About, info.Schedule = jb.about, jb.cron
		if jb.every > 0 {
			info.Schedule = "every " + short(jb.every)
		}
	}
	return nil
}

func short(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return task.ID(d/time.Hour).String() + " h"
	case d%time.Minute == 0:
		return task.ID(d/time.Minute).String() + " min"
	}
	return d.String()
}

func (c *clock) start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.build(ctx); err != nil {
		return err
	}
	c.lastCheck.Store(time.Now().UnixNano())
	go c.watch(ctx)
	return nil
}

// build creates gocron's schedule from the table; the caller holds c.mu. once
// prevents concurrent runs of a job, because gocron's singleton mode does not
// work reliably: it notifies its scheduler of a run's start and of its
// rescheduling from two goroutines, and if the start arrives first, the job is
// scheduled again for the same time.
func (c *clock) build(ctx context.Context) error {
	s, err := gocron.NewScheduler(gocron.WithLocation(c.loc), gocron.WithStopTimeout(stopLimit))
	if err != nil {
		return err
	}
	c.ids = map[string]gocron.Job{}
	for _, jb := range c.table {
		def, opts := gocron.DurationJob(jb.every), []gocron.JobOption{gocron.WithName(jb.name)}
		if jb.cron != "" {
			w, err := newWallCron(jb.cron, c.loc)
			if err != nil {
				return err
			}
			def, opts = gocron.CronJob(jb.cron, false), append(opts, gocron.WithCronImplementation(w))
		}
		id, err := s.NewJob(def, gocron.NewTask(func() { c.due(ctx, jb) }), opts...)
		if err != nil {
			return err
		}
		c.ids[jb.name] = id
	}
	c.cron = s
	s.Start()
	return nil
}

// replace sets another table and zone. Before the start it only stores them. It
// returns an error if a cron line cannot be parsed; the previous table then
// stays.
func (c *clock) replace(ctx context.Context, table []job, loc *time.Location) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.describe(table, loc); err != nil {
		return err
	}
	c.table, c.loc = table, loc
	if c.cron == nil || ctx.Err() != nil {
		return nil
	}
	return c.rebuild(ctx)
}

// rebuild replaces the running schedule with one of the table; the caller holds
// c.mu.
func (c *clock) rebuild(ctx context.Context) error {
	old := c.cron
	if err := c.build(ctx); err != nil {
		return err
	}
	go func() {
		if err := old.Shutdown(); err != nil {
			c.log.Debug("old schedule", "error", err)
		}
	}()
	return nil
}

// stop stops the clock after its context has ended. It waits for the running
// jobs before it stops gocron, which busy-waits for them. Both need mu, so it
// must not be held.
func (c *clock) stop() {
	<-c.ended
	c.mu.Lock()
	cron := c.cron
	c.mu.Unlock()
	done := make(chan struct{})
	go func() { c.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(stopLimit):
		c.log.Warn("a job is still running although the clock has stopped")
	}
	if err := cron.Shutdown(); err != nil {
		c.log.Warn("scheduler stopped late", "error", err)
	}
}

// due runs a job that is due, if this server is responsible for it. gocron's
// own elector decides for a whole schedule, but some jobs run on every server.
func (c *clock) due(ctx context.Context, jb job) {
	if !jb.everyServer {
		lead, ok := c.lead(ctx)
		if !ok && jb.cron != "" {
			c.runIfLeaderLate(ctx, jb)
		}
		if !ok {
			return
		}
		ctx = lead
	}
	c.once(ctx, jb)
}

// runIfLeaderLate runs a job that is due on another server if this server becomes the
// leader soon and the other has not run it: there may be no leader when the job
// is due. Jobs that run every few seconds do not need this.
func (c *clock) runIfLeaderLate(ctx context.Context, jb job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	since := c.wall().Add(-maxClockSkew)
	c.running.Go(func() {
		waits, over := context.WithTimeout(ctx, standByLimit)
		defer over()
		for sleep.For(waits, watchEvery) {
			lead, ok := c.lead(ctx)
			if !ok {
				continue
			}
			switch done, err := c.did(ctx, jb.name, since); {
			case err != nil:
				c.log.Warn("failed to find out whether a job was done", "job", jb.name, "error", err)
				continue
			case !done:
				c.log.Info("a job is late, as no server led when it was due", "job", jb.name)
				c.once(lead, jb)
			}
			return
		}
	})
}

// runMissed runs the jobs that were due within the last d, unless they were done.
func (c *clock) runMissed(ctx context.Context, d time.Duration) {
	c.mu.Lock()
	table, loc := c.table, c.loc
	c.mu.Unlock()
	now := c.wall()
	for _, jb := range table {
		if jb.cron != "" && firedBetween(jb.cron, loc, now.Add(-d), now) {
			c.runIfLeaderLate(ctx, jb)
		}
	}
}

// once runs a job unless it is already running.
func (c *clock) once(ctx context.Context, jb job) {
	c.mu.Lock()
	info := c.state[jb.name]
	if info == nil {
		info = &task.JobInfo{Name: jb.name, About: "queues a run for each task that may run", Schedule: "on demand"}
		c.state[jb.name] = info
	}
	if info.Running || ctx.Err() != nil {
		c.mu.Unlock()
		return
	}
	info.Running = true
	c.running.Add(1)
	defer c.running.Done()
	c.mu.Unlock()

	start := time.Now()
	err := jb.run(ctx)
	took := time.Since(start)

	c.mu.Lock()
	info.Running, info.LastAt, info.Took, info.Failure = false, task.TimeFromStd(start), took, ""
	info.Runs++
	if err != nil {
		info.Failure = err.Error()
	}
	c.mu.Unlock()
	c.note(jb, took, err)
}

// jobs returns the current table.
func (c *clock) jobs() []job {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.table
}

func (c *clock) find(name string) (job, error) {
	for _, jb := range c.jobs() {
		if jb.name == name {
			return jb, nil
		}
	}
	return job{}, task.Errorf(task.NotFound, task.CodeNotFound, "No job is called %s", name)
}

func (c *clock) next(name string) task.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.ids[name]
	if id == nil {
		return 0
	}
	t, err := id.NextRun()
	if err != nil {
		return 0
	}
	return task.TimeFromStd(t)
}

func (c *clock) infos() []task.JobInfo {
	table := c.jobs()
	list := make([]task.JobInfo, 0, len(table))
	for _, jb := range table {
		next := c.next(jb.name)
		c.mu.Lock()
		info := *c.state[jb.name]
		c.mu.Unlock()
		info.Next = next
		list = append(list, info)
	}
	return list
}

func (c *clock) alive() bool {
	return time.Since(time.Unix(0, c.lastCheck.Load())) < 30*time.Second
}

// watch compares the progress of the wall clock and the monotonic clock every
// second. After a jump, it rebuilds the schedule and runs skipped ticks once.
func (c *clock) watch(ctx context.Context) {
	defer close(c.ended)
	mono, wall := time.Now(), c.wall()
	for sleep.For(ctx, watchEvery) {
		c.checkClock(ctx)
		now, nowWall := time.Now(), c.wall()
		drift := nowWall.Sub(wall) - now.Sub(mono)
		if drift > jumpLimit || drift < -jumpLimit {
			c.handleJump(ctx, wall, nowWall)
		}
		mono, wall = now, nowWall
		c.lastCheck.Store(now.UnixNano())
	}
}

// checkClock records that the server is running. If the database cannot be written,
// the next turn retries.
func (c *clock) checkClock(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := c.check(ctx); err != nil && ctx.Err() == nil {
		c.log.Error("failed to check the clock", "error", err)
	}
}

func (c *clock) handleJump(ctx context.Context, from, to time.Time) {
	c.log.Warn("the wall clock jumped; building the schedule again", "from", from, "to", to)
	c.mu.Lock()
	err := c.rebuild(ctx)
	table, loc := c.table, c.loc
	c.mu.Unlock()
	if err != nil {
		c.log.Error("failed to build the schedule", "error", err)
		return
	}
	for _, jb := range table {
		if jb.cron != "" && firedBetween(jb.cron, loc, from, to) {
			go c.due(ctx, jb)
		}
	}
}

// firedBetween reports whether a cron line fires between two times.
func firedBetween(line string, loc *time.Location, from, to time.Time) bool {
	next := nextTime(line, loc, from)
	return !next.IsZero() && !next.After(to)
}
