package jobs

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"

	"taskyard/task"
)

// firings returns the times at which a cron line must fire between two times,
// computed minute by minute: each wall time once, at its first occurrence, and times
// skipped by a gap once, at the end of the gap.
func firings(t *testing.T, line string, loc *time.Location, from, to time.Time) []time.Time {
	t.Helper()
	sched, err := cron.ParseStandard(line)
	if err != nil {
		t.Fatal(err)
	}
	matches := func(wall time.Time) bool { return sched.Next(wall.Add(-time.Second)).Equal(wall) }
	seen := map[time.Time]bool{}
	var list []time.Time
	var before time.Time // the previous minute's wall time
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		wall := floating(at.In(loc))
		due := false
		if !before.IsZero() {
			for skipped := before.Add(time.Minute); skipped.Before(wall); skipped = skipped.Add(time.Minute) {
				due = due || matches(skipped)
			}
		}
		due = due || matches(wall) && !seen[wall]
		if due {
			list = append(list, at)
		}
		seen[wall], before = true, wall
	}
	return list
}

// floating returns the wall time of t without its zone.
func floating(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
}

func TestCronOnDaysOfClockChanges(t *testing.T) {
	t.Parallel()
	lines := []string{
		"0 * * * *", "30 2 * * *", "0 3 * * *", "30 0 * * *", "30 23 * * *",
		"45 1 * * *", "15 2 * * *", "0 6-21 * * *", "*/20 * * * *",
	}
	for _, day := range []struct{ zone, date, what string }{
		{"Europe/Berlin", "2026-03-29", "gap from 2 to 3"},
		{"Europe/Berlin", "2026-10-25", "overlap from 2 to 3"},
		{"Europe/London", "2026-10-25", "overlap from 1 to 2"},
		{"America/New_York", "2026-03-08", "gap from 2 to 3"},
		{"America/New_York", "2026-11-01", "overlap from 1 to 2"},
		{"Australia/Lord_Howe", "2026-10-04", "gap of half an hour"},
		{"Australia/Lord_Howe", "2026-04-05", "overlap of half an hour"},
		{"America/Sao_Paulo", "2018-11-04", "gap at midnight"},
		{"America/Sao_Paulo", "2018-02-18", "overlap before midnight"},
		{"UTC", "2026-03-29", "no change"},
	} {
		t.Run(day.zone+" "+day.date+" "+day.what, func(t *testing.T) {
			loc, err := time.LoadLocation(day.zone)
			if err != nil {
				t.Fatal(err)
			}
			date, err := time.Parse(time.DateOnly, day.date)
			if err != nil {
				t.Fatal(err)
			}
			from, to := date.Add(-24*time.Hour), date.Add(48*time.Hour)
			for _, line := range lines {
				checkLine(t, line, loc, from, to)
			}
		})
	}
}

// checkLine checks the next firing after every tenth minute, including those within
// gaps and overlaps, and follows the line from firing to firing.
func checkLine(t *testing.T, line string, loc *time.Location, from, to time.Time) {
	t.Helper()
	w, err := newWallCron(line, loc)
	if err != nil {
		t.Fatal(err)
	}
	want := firings(t, line, loc, from, to)
	at := from.Add(-time.Second)
	for i, f := range want {
		got := w.Next(at)
		if !got.Equal(f) {
			t.Fatalf("%q: firing %d after %v: got %v, want %v", line, i, at.In(loc), got.In(loc), f.In(loc))
		}
		at = got
	}
	i := 0
	for last := from; i < len(want); last = last.Add(10 * time.Minute) {
		for i < len(want) && !want[i].After(last) {
			i++
		}
		if i == len(want) {
			break
		}
		if got := w.Next(last); !got.Equal(want[i]) {
			t.Errorf("%q: firing after %v: got %v, want %v", line, last.In(loc), got.In(loc), want[i].In(loc))
		}
	}
}

func TestCronLines(t *testing.T) {
	t.Parallel()
	t.Run("an invalid line is refused", func(t *testing.T) {
		if _, err := newWallCron("0 25 * * *", time.UTC); err == nil {
			t.Error("accepted")
		}
	})
	t.Run("a line that never fires does not loop", func(t *testing.T) {
		w, err := newWallCron("0 0 31 2 *", time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)); !got.IsZero() {
			t.Errorf("got next %v, want none", got)
		}
	})
}

func FuzzCron(f *testing.F) {
	for _, line := range []string{
		"0 6-21 * * *", "*/20 2 29 2 *", "@daily", "@every 1s",
		"CRON_TZ=Europe/Berlin 0 2 * * *", "TZ= 1", "60 * * * *", "",
	} {
		f.Add(line, int64(1_774_742_400))
	}
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string, unix int64) {
		w, err := newWallCron(line, loc)
		if err != nil {
			return
		}
		last := time.Unix(unix%4e9, 0)
		if next := w.Next(last); !next.IsZero() && !next.After(last) {
			t.Errorf("%q: firing after %v: got %v", line, last, next)
		}
	})
}

func TestTicks(t *testing.T) {
	t.Parallel()
	plan, err := Ticks("0 6-21 * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	evening := task.TimeFromStd(time.Date(2026, 3, 2, 21, 30, 0, 0, time.UTC))
	if got := plan(evening).String(); got != "2026-03-03T06:00:00.000Z" {
		t.Errorf("tick after %s: got %s", evening, got)
	}
	never, err := Ticks("0 0 31 2 *", time.UTC)
	if err != nil || never(evening) != 0 {
		t.Errorf("tick on the 31st of February: got %s (%v)", never(evening), err)
	}
	if _, err := Ticks("never", time.UTC); err == nil {
		t.Error("an empty cron line was accepted")
	}
}
