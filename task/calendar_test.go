package task_test

import (
	"testing"
	"time"

	"taskyard/task"
)

func TestCalendarSplitsTimeIntoUnits(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zone database")
	}
	at := func(y, m, d, h int) task.Time {
		return task.TimeFromStd(time.Date(y, time.Month(m), d, h, 0, 0, 0, berlin))
	}
	for name, c := range map[string]struct {
		from, to task.Time
		unit     string
		n        int
	}{
		"a day": {at(2026, 3, 2, 5), at(2026, 3, 2, 6), task.UnitDay, 1},
		"the day on which daylight saving time starts": {at(2026, 3, 29, 0), at(2026, 3, 30, 0), task.UnitDay, 1},
		"the month in which it starts":                 {at(2026, 3, 1, 0), at(2026, 4, 1, 0), task.UnitDay, 31},
		"half a year, by weeks":                        {at(2026, 1, 1, 0), at(2026, 7, 1, 0), task.UnitWeek, 26},
		"five years, by months":                        {at(2021, 5, 17, 0), at(2026, 5, 17, 0), task.UnitMonth, 61},
		"all of time, by years":                        {-1 << 60, at(2026, 5, 17, 0), task.UnitYear, 57},
		"as many days as fit":                          {at(2026, 1, 1, 0), at(2026, 4, 3, 0), task.UnitDay, 92},
		"one more than fits":                           {at(2026, 1, 1, 0), at(2026, 4, 4, 0), task.UnitWeek, 14},
		"an empty range is its day":                    {at(2026, 1, 1, 5), at(2026, 1, 1, 5), task.UnitDay, 1},
	} {
		t.Run(name, func(t *testing.T) {
			starts, unit := task.Calendar(c.from, c.to, berlin, 92)
			if unit != c.unit || len(starts) != c.n+1 {
				t.Fatalf("got %d parts by %s, want %d by %s", len(starts)-1, unit, c.n, c.unit)
			}
			if starts[0] > max(c.from, 0) || starts[c.n] < c.to {
				t.Errorf("got %s to %s", starts[0], starts[c.n])
			}
			for i := range c.n {
				if task.CalendarIndex(starts, starts[i]) != i || task.CalendarIndex(starts, starts[i+1]-1) != i {
					t.Errorf("the start of part %d was not found", i)
				}
			}
			if task.CalendarIndex(starts, starts[0]-1) != -1 || task.CalendarIndex(starts, starts[c.n]) != -1 {
				t.Error("a time outside the range was found")
			}
		})
	}
}
