package views

import (
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestTimesUseThePersonsZone(t *testing.T) {
	t.Parallel()
	at := task.TimeFromStd(time.Date(2026, 3, 2, 23, 30, 5, 0, time.UTC))
	berlin, err := time.LoadLocation("Europe/Berlin")
	testkit.NoError(t, err)
	dubai, err := time.LoadLocation("Asia/Dubai") // has no abbreviation
	testkit.NoError(t, err)
	for _, c := range []struct {
		zone               *time.Location
		clock, exact, when string
	}{
		{nil, "23:30", "2026-03-02 23:30:05 UTC", "23:30"},
		{time.UTC, "23:30", "2026-03-02 23:30:05 UTC", "23:30"},
		{berlin, "00:30", "2026-03-03 00:30:05 CET (2026-03-02 23:30:05 UTC)", "Tue 3 Mar, 00:30"},
		{dubai, "03:30", "2026-03-03 03:30:05 UTC+04 (2026-03-02 23:30:05 UTC)", "Tue 3 Mar, 03:30"},
	} {
		ch := Chrome{Zone: c.zone, Now: at.Add(-4 * time.Hour)}
		if got := [3]string{ch.Clock(at), ch.Exact(at), ch.When(at)}; got != [3]string{c.clock, c.exact, c.when} {
			t.Errorf("in %v: got %q", c.zone, got)
		}
	}
	if got := (Chrome{Now: at.Add(-365 * 24 * time.Hour)}).When(at); got != "2 Mar 2026, 23:30" {
		t.Errorf("a year later: got %q", got)
	}
}
