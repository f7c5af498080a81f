package jobs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"taskyard/task"
)

// bench is a clock with a few jobs, in a synctest bubble.
type bench struct {
	*clock
	stop func()

	mu    sync.Mutex
	fired map[string][]time.Time
}

func newBench(t *testing.T, loc *time.Location, table ...job) *bench {
	t.Helper()
	b := &bench{fired: map[string][]time.Time{}}
	for i := range table {
		name, run := table[i].name, table[i].run
		table[i].run = func(ctx context.Context) error {
			b.mu.Lock()
			b.fired[name] = append(b.fired[name], time.Now())
			b.mu.Unlock()
			if run != nil {
				return run(ctx)
			}
			return nil
		}
	}
	var err error
	b.clock, err = newClock(table, loc, func(job, time.Duration, error) {}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) startIn(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	if err := b.start(ctx); err != nil {
		t.Fatal(err)
	}
	b.stop = func() { cancel(); b.clock.stop() }
}

func (b *bench) times(name string) []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.fired[name])
}

func (b *bench) scheduler() any {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clock.mu.Lock()
	defer b.clock.mu.Unlock()
	return b.cron
}

// shift returns an offset that is added to the wall clock.
func (b *bench) shift() *atomic.Int64 {
	var offset atomic.Int64
	b.wall = func() time.Time { return time.Now().Round(0).Add(time.Duration(offset.Load())) }
	return &offset
}

// The clock of a bubble starts at midnight UTC on 2000-01-01.

func TestJobsFireOnDaysOfClockChanges(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []struct{ name, start string }{
		{"spring", "2000-03-25T20:30:30Z"},
		{"autumn", "2000-10-28T20:30:30Z"},
	} {
		t.Run(day.name, func(t *testing.T) {
			start, err := time.Parse(time.RFC3339, day.start)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(start))
				b := newBench(t, berlin, job{name: "hourly", cron: "0 * * * *"}, job{name: "night", cron: "30 2 * * *"})
				b.startIn(t)
				time.Sleep(12 * time.Hour)
				b.stop()
				for name, line := range map[string]string{"hourly": "0 * * * *", "night": "30 2 * * *"} {
					want := firings(t, line, berlin, start.Add(-30*time.Second), start.Add(12*time.Hour))
					if got := b.times(name); !slices.EqualFunc(got, want, time.Time.Equal) {
						t.Errorf("%s: fired at %v, want %v", name, got, want)
					}
				}
			})
		})
	}
}

func TestClockSurvivesJumps(t *testing.T) {
	t.Parallel()
	hourly := func() job { return job{name: "hourly", cron: "0 * * * *"} }
	often := func() job { return job{name: "often", every: 10 * time.Second} }

	t.Run("times missed by a step forward fire once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, time.UTC, hourly(), often())
			offset := b.shift()
			b.startIn(t)
			defer func() { b.stop() }()
			old := b.scheduler()
			time.Sleep(90 * time.Second)
			offset.Store(int64(5 * time.Hour))
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if got := b.times("hourly"); len(got) != 1 {
				t.Errorf("fired %d times, want once for the five missed times", len(got))
			}
			if b.scheduler() == old {
				t.Error("the schedule was not rebuilt")
			}
		})
	})
	t.Run("a step forward between two times fires nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, time.UTC, hourly())
			offset := b.shift()
			b.startIn(t)
			defer func() { b.stop() }()
			time.Sleep(90 * time.Second)
			offset.Store(int64(20 * time.Minute))
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if got := b.times("hourly"); len(got) != 0 {
				t.Errorf("fired at %v, want no firing", got)
			}
		})
	})
	t.Run("after a step back the schedule is rebuilt and continues", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, time.UTC, hourly(), often())
			offset := b.shift()
			b.startIn(t)
			defer func() { b.stop() }()
			old := b.scheduler()
			time.Sleep(90 * time.Second)
			offset.Store(int64(-3 * time.Hour))
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if b.scheduler() == old {
				t.Error("the schedule was not rebuilt")
			}
			if got := b.times("hourly"); len(got) != 0 {
				t.Errorf("a step back fired at %v", got)
			}
			before := len(b.times("often"))
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := len(b.times("often")) - before; got < 5 || got > 7 {
				t.Errorf("a job that is due every 10 s ran %d times in the minute after the step", got)
			}
		})
	})
	t.Run("a small correction of the clock changes nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, time.UTC, hourly())
			offset := b.shift()
			b.startIn(t)
			defer func() { b.stop() }()
			old := b.scheduler()
			time.Sleep(500 * time.Millisecond) // between two checks of the watchdog
			for range 10 {
				offset.Add(int64(4 * time.Second))
				time.Sleep(time.Second)
			}
			synctest.Wait()
			if b.scheduler() != old {
				t.Error("the schedule was rebuilt")
			}
		})
	})
	t.Run("the clock is alive only while the watchdog runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, time.UTC, hourly())
			if b.alive() {
				t.Error("alive before the start")
			}
			b.startIn(t)
			time.Sleep(time.Hour)
			if !b.alive() {
				t.Error("not alive while running")
			}
			b.stop()
			time.Sleep(31 * time.Second)
			if b.alive() {
				t.Error("alive after the stop")
			}
		})
	})
}

func TestAJobRunsOnceAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		b := newBench(t, time.UTC, job{name: "slow", every: 10 * time.Second, run: func(context.Context) error { <-gate; return nil }})
		b.startIn(t)
		for range 3 {
			jb, err := b.find("slow")
			if err != nil {
				t.Error(err)
			}
			go b.once(t.Context(), jb)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := b.times("slow"); len(got) != 1 {
			t.Errorf("started %d times while running, want once", len(got))
		}
		if info := b.infos()[0]; !info.Running {
			t.Error("not reported as running")
		}
		close(gate)
		time.Sleep(25 * time.Second)
		synctest.Wait()
		if got := b.times("slow"); len(got) < 2 {
			t.Errorf("started %d times, want it to start again", len(got))
		}
		b.stop()
	})
}

func TestJobsAreDescribed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, time.UTC, job{name: "fails", about: "does nothing", every: 5 * time.Minute, run: func(context.Context) error {
			time.Sleep(3 * time.Second)
			return errors.New("disk full")
		}}, job{name: "nightly", cron: "30 3 * * *"})
		if got := b.next("nightly"); got != 0 {
			t.Errorf("before the start: next run at %v, want none", got)
		}
		b.startIn(t)
		defer func() { b.stop() }()
		start := time.Now()
		time.Sleep(5*time.Minute + 10*time.Second)
		synctest.Wait()
		infos := b.infos()
		want := task.JobInfo{
			Name: "fails", About: "does nothing", Schedule: "every 5 min",
			LastAt: task.TimeFromStd(start.Add(5 * time.Minute)), Took: 3 * time.Second,
			Failure: "disk full", Runs: 1, Next: task.TimeFromStd(start.Add(10 * time.Minute)),
		}
		if infos[0] != want {
			t.Errorf("got %+v, want %+v", infos[0], want)
		}
		if got, want := infos[1].Next, task.TimeFromStd(time.Date(2000, 1, 1, 3, 30, 0, 0, time.UTC)); got != want ||
			infos[1].Schedule != "30 3 * * *" {
			t.Errorf("nightly: got %+v, want next %v", infos[1], want)
		}
		if _, err := b.find("nothing"); errorKind(err) != task.NotFound {
			t.Errorf("unknown job: got %v", err)
		}
	})
}

func errorKind(err error) task.Kind {
	if e, ok := errors.AsType[*task.Error](err); ok {
		return e.Kind
	}
	return ""
}

func TestRescheduleReplacesThePlan(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{jobs: func(o *Options) { o.Plan.Enabled, o.Plan.Cron = true, "0 6 * * *" }})
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	before := inst.jobs.NextTick()
	at := func(want string) {
		t.Helper()
		next := inst.jobs.NextTick()
		if next == 0 || next == before || next.Std().In(berlin).Format("15:04") != want {
			t.Errorf("next tick: got %v, want %s in Berlin", next.Std().In(berlin), want)
		}
		if list := inst.jobs.NextTicks(2); len(list) != 2 || list[0] != next {
			t.Errorf("next ticks: got %v", list)
		}
	}
	if err := inst.jobs.Reschedule(Plan{Enabled: true, Cron: "35 17 * * *", Location: berlin}); err != nil {
		t.Fatal(err)
	}
	at("17:35")
	if got := inst.jobs.Window(); got != "every day at 17:35, Europe/Berlin" {
		t.Error(got)
	}
	if err := inst.jobs.Reschedule(Plan{Enabled: true, Cron: "35 17 * *", Location: berlin}); err == nil {
		t.Error("a line of four fields was accepted")
	}
	at("17:35")
	if err := inst.jobs.Reschedule(Plan{Location: berlin, Backup: Backup{Cron: "0 1 * * *", Dir: t.TempDir(), Keep: 1}}); err != nil {
		t.Fatal(err)
	}
	if next := inst.jobs.NextTick(); next != 0 {
		t.Errorf("a tick is scheduled for %v although ticks are off", next)
	}
	names := ""
	for _, jb := range inst.jobs.Jobs() {
		names += jb.Name + " "
	}
	if !strings.HasSuffix(names, "folders backup ") || strings.Contains(names, "tick ") {
		t.Errorf("got jobs %s", names)
	}
}
