package task

import (
	"slices"
	"strings"
	"sync"
	"time"

	"taskyard/internal/lazyregexp"
)

// Units of a calendar.
const (
	UnitDay   = "day"
	UnitWeek  = "week"
	UnitMonth = "month"
	UnitYear  = "year"
)

// Calendar divides the days of a zone from one moment to before another into at
// most limit days, weeks, months or years, whichever is the first to fit. It
// returns where each begins, and last where the last one ends; both moments
// are taken by whole days. It never goes back behind 1970.
func Calendar(from, to Time, zone *time.Location, limit int) (starts []Time, unit string) {
	first := Midnight(max(from, 1), zone)
	for _, u := range []struct {
		unit                string
		years, months, days int
	}{{UnitDay, 0, 0, 1}, {UnitWeek, 0, 0, 7}, {UnitMonth, 0, 1, 0}, {UnitYear, 1, 0, 0}} {
		at := first
		if u.days == 0 {
			at = at.AddDate(0, 0, 1-at.Day())
		}
		if u.years > 0 {
			at = at.AddDate(0, 1-int(at.Month()), 0)
		}
		starts = append(starts[:0], TimeFromStd(at))
		for TimeFromStd(at) < to && (len(starts) <= limit || u.years > 0) {
			at = at.AddDate(u.years, u.months, u.days)
			starts = append(starts, TimeFromStd(at))
		}
		if unit = u.unit; len(starts) <= limit+1 && TimeFromStd(at) >= to {
			break
		}
	}
	return starts, unit
}

// Midnight is the beginning of the day of a moment, there.
func Midnight(t Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	y, m, d := t.Std().In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, zone)
}

// CalendarIndex returns which part of a calendar a moment is in, or -1.
func CalendarIndex(starts []Time, t Time) int {
	i, found := slices.BinarySearch(starts, t)
	if !found {
		i-- // of the part that began before
	}
	if i == len(starts)-1 { // where the last part ends
		return -1
	}
	return i
}

var (
	zoneNames = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$`)
	zones     sync.Map // name → *time.Location, those that there are
)

// Zone finds a time zone by its name in the time zone database, such as
// Europe/Berlin. Names may come from anywhere.
func Zone(name string) (*time.Location, bool) {
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location), true
	}
	if len(name) > 64 || !zoneNames().MatchString(name) || name == "Local" {
		return nil, false
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, false
	}
	zones.Store(name, z)
	return z, true
}

// ZoneName names the time zone of a moment: CET, or UTC+03 where the zone has no
// letters.
func ZoneName(t time.Time) string {
	name, _ := t.Zone()
	if strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-") {
		return "UTC" + name
	}
	return name
}
