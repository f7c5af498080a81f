package jobs

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// wallCron is a cron line in a time zone with clock changes. It computes with
// wall clock times: a time in a spring gap fires once at the next valid minute;
// a time that an autumn overlap repeats fires once.
type wallCron struct {
	sched cron.Schedule
	loc   *time.Location
}

var fiveFields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

func newWallCron(line string, loc *time.Location) (*wallCron, error) {
	if strings.Contains(line, "=") {
		// The parser reads TZ= here, and panics on some such lines.
		return nil, fmt.Errorf("cron line %q: a time zone in the line is not supported", line)
	}
	sched, err := fiveFields.Parse(line)
	if err != nil {
		return nil, fmt.Errorf("cron line %q: %w", line, err)
	}
	return &wallCron{sched, loc}, nil
}

// IsValid is called by gocron; the line has already been parsed.
func (w *wallCron) IsValid(string, *time.Location, time.Time) error { return nil }

// Next returns the first firing after last, or the zero time if there is none
// within five years.
func (w *wallCron) Next(last time.Time) time.Time {
	local := last.In(w.loc)
	floating := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), time.UTC)
	for range 10_000 {
		floating = w.sched.Next(floating)
		if floating.IsZero() {
			return floating
		}
		if at := w.zoneTime(floating); at.After(last) {
			return at
		}
	}
	return time.Time{}
}

// zoneTime converts a wall clock time to a time in the zone. If the clock shows it
// twice, it returns the first one, so that a schedule that is rebuilt between
// the two neither repeats nor skips it.
func (w *wallCron) zoneTime(f time.Time) time.Time {
	t := time.Date(f.Year(), f.Month(), f.Day(), f.Hour(), f.Minute(), f.Second(), 0, w.loc)
	if !hasWallTime(t, f) {
		// The wall clock skips f: the gap ends where the next zone period begins.
		_, end := t.Add(-4 * time.Hour).ZoneBounds()
		return end
	}
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return t
	}
	_, now := t.Zone()
	_, before := start.Add(-time.Second).Zone()
	first := t.Add(time.Duration(now-before) * time.Second)
	if first.Before(start) && hasWallTime(first, f) {
		return first
	}
	return t
}

// hasWallTime reports whether the wall clock at t reads f.
func hasWallTime(t, f time.Time) bool { return t.Hour() == f.Hour() && t.Minute() == f.Minute() }
