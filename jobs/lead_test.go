package jobs

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// A job that comes due between one server losing leadership and another gaining it is
// done once, by the next leader.
func TestAJobDueWhileNoServerLeadsIsDone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		leads  time.Duration // after the job is due; 0: never
		done   bool          // by another server
		broken time.Duration // how long the failure lasts
		want   time.Duration // after the job is due; 0: never
	}{
		{name: "by the server that leads soon after", leads: 10 * time.Second, want: 10 * time.Second},
		{name: "not if another server did it", leads: 10 * time.Second, done: true},
		{name: "not if this server never leads"},
		{name: "not if it leads much later", leads: 2 * standByLimit},
		{name: "as soon as it is known that no server did it", leads: 10 * time.Second, broken: 20 * time.Second, want: 20 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, time.UTC, job{name: "hourly", cron: "0 * * * *"}, job{name: "often", every: 10 * time.Second})
				due := time.Now().Add(time.Hour) // a bubble starts at midnight
				var asked atomic.Bool
				b.lead = func(ctx context.Context) (context.Context, bool) {
					return ctx, c.leads > 0 && time.Since(due) >= c.leads
				}
				b.did = func(_ context.Context, name string, since time.Time) (bool, error) {
					asked.Store(true)
					if name != "hourly" || since.After(due) || due.Sub(since) > time.Minute {
						t.Errorf("asked about %s since %v, want due time %v", name, since, due)
					}
					if time.Since(due) < c.broken {
						return false, errors.New("the database is unreachable")
					}
					return c.done, nil
				}
				b.startIn(t)
				time.Sleep(time.Until(due) + 30*time.Minute)
				b.stop()
				got := b.times("hourly")
				switch {
				case c.want == 0 && len(got) > 0:
					t.Errorf("done at %v, want never", got)
				case c.want > 0 && (len(got) != 1 || got[0].Sub(due) < c.want || got[0].Sub(due) > c.want+2*watchEvery):
					t.Errorf("done at %v, want %v after %v", got, c.want, due)
				}
				if asked.Load() != (c.leads > 0 && c.leads < standByLimit) {
					t.Errorf("asked what other servers did: got %v", asked.Load())
				}
			})
		})
	}
}

// A leader that is killed and started again keeps its lease, and no other server does
// what was due meanwhile.
func TestAJobDueWhileTheLeaderRestartedIsDone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		start time.Duration // after the job is due
		done  bool          // before
		want  int
	}{
		{"it was not done", 5 * time.Second, false, 1},
		{"it was done", 5 * time.Second, true, 0},
		{"it was due long ago", time.Minute, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, time.UTC, job{name: "hourly", cron: "0 * * * *"})
				due := time.Now().Add(time.Hour)
				time.Sleep(time.Until(due) + c.start)
				b.did = func(_ context.Context, _ string, since time.Time) (bool, error) {
					if since.After(due) {
						t.Errorf("asked what was done since %v, and the job was due at %v", since, due)
					}
					return c.done, nil
				}
				b.startIn(t)
				b.runMissed(t.Context(), restartLimit)
				time.Sleep(30 * time.Minute)
				b.stop()
				if got := b.times("hourly"); len(got) != c.want {
					t.Errorf("done at %v, want %d times", got, c.want)
				}
			})
		})
	}
}

// Of several servers, only the leader reports a tick or backup as late, and only if
// it was due after the server became the leader.
func TestOnlyTheLeaderReportsLateJobs(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{stopped: true, jobs: func(o *Options) {
		o.Plan = Plan{Enabled: true, Cron: "0 * * * *", Location: time.UTC, Backup: Backup{Cron: "0 0 * * *", Keep: 1, Dir: t.TempDir()}}
	}})
	var err error
	if inst.jobs, err = New(inst.opt); err != nil {
		t.Fatal(err)
	}
	inst.jobs.started = inst.jobs.started.Add(-10 * 24 * time.Hour)
	inst.jobs.clock.state[task.JobTick].LastAt = task.TimeFromStd(inst.jobs.started)
	late := func(what string, want int) {
		t.Helper()
		if got := inst.jobs.Health().Late; len(got) != want {
			t.Errorf("%s: got late jobs %v, want %d", what, got, want)
		}
	}
	late("alone", 2)
	if !dbtest.Postgres() {
		return // SQLite has only one server
	}
	lead := func(id string, d time.Duration) {
		t.Helper()
		err := inst.db.Write(t.Context(), func(tx *db.Tx) error { _, _, err := tx.Lead(id, d); return err })
		if err != nil {
			t.Fatal(err)
		}
	}
	lead("other", 10*time.Second)
	if err := inst.svc.Join(t.Context(), task.Server{ID: "this"}); err != nil {
		t.Fatal(err)
	}
	late("while another server leads", 0)
	if v := inst.jobs.Health(); v.TickAt != 0 || v.BackupAt != 0 {
		t.Errorf("another server leads, and this one reports its own tick of %v and backup of %v as the last ones", v.TickAt, v.BackupAt)
	}
	inst.clock.Forward(12 * time.Second)
	if err := inst.svc.CheckClock(t.Context()); err != nil {
		t.Fatal(err)
	}
	since, leads := inst.svc.LeadsSince()
	if !leads {
		t.Fatal("the server did not become the leader")
	}
	late("when it has just become the leader", 0)
	inst.clock.Forward(5 * time.Second)
	if err := inst.svc.CheckClock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, leads := inst.svc.LeadsSince(); !leads || !again.Equal(since) {
		t.Errorf("got leader %v since %v, want since %v", leads, again, since)
	}
}

// The database shows what other servers did.
func TestJobsDoneByOtherServersAreKnown(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{})
	start := inst.clock.Now().Add(-time.Second)
	did := func(what, name string, want bool) {
		t.Helper()
		if got, err := inst.svc.JobDone(t.Context(), name, start); err != nil || got != want {
			t.Errorf("%s, %s done: got %v, %v", what, name, got, err)
		}
	}
	did("at first", task.JobTick, false)
	did("at first", task.JobBackup, false)
	if err := inst.db.Write(t.Context(), func(tx *db.Tx) error { _, err := tx.BeginTick("cron"); return err }); err != nil {
		t.Fatal(err)
	}
	did("after an interrupted one", task.JobTick, false)
	if _, err := inst.svc.Tick(t.Context(), "cron"); err != nil {
		t.Fatal(err)
	}
	if err := inst.svc.NoteJob(t.Context(), task.JobBackup, time.Second, nil); err != nil {
		t.Fatal(err)
	}
	did("after both", task.JobTick, true)
	did("after both", task.JobBackup, true)
	start = start.Add(time.Hour)
	did("an hour later", task.JobTick, false)
	did("an hour later", task.JobBackup, false)
}
