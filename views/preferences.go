package views

import (
	"cmp"
	"time"

	"github.com/a-h/templ"

	"taskyard/task"
	"taskyard/views/ui"
)

// Appearance contains a person's preferences for pages. The zero value uses
// those of the browser and the system.
type Appearance struct {
	Density string // "cozy" for more space, or ""
	Motion  string // "less": no animations, regardless of the system
	Zone    string // the selected time zone, "": the browser's
}

// rootAttrs returns the attributes of the root element with which styles and
// scripts apply the person's preferences.
func rootAttrs(c Chrome) templ.Attributes {
	a := templ.Attributes{}
	for name, v := range map[string]string{"data-density": c.Appearance.Density, "data-motion": c.Appearance.Motion, "data-user": c.User} {
		if v != "" {
			a[name] = v
		}
	}
	return a
}

// local converts a time to the person's time zone.
func (c Chrome) local(t task.Time) time.Time { return t.Std().In(cmp.Or(c.Zone, time.UTC)) }

// zone returns the abbreviation of the person's time zone at a time: CET, or
// UTC+03 if the zone has no abbreviation.
func (c Chrome) zone(t task.Time) string { return task.ZoneName(c.local(t)) }

// Clock returns hours and minutes in the person's time zone.
func (c Chrome) Clock(t task.Time) string { return c.local(t).Format("15:04") }

// Exact returns a time to the second, in the person's time zone and in UTC, for
// titles.
func (c Chrome) Exact(t task.Time) string {
	if _, offset := c.local(t).Zone(); offset == 0 {
		return ui.Exact(t)
	}
	return c.local(t).Format("2006-01-02 15:04:05") + " " + c.zone(t) + " (" + ui.Exact(t) + ")"
}

// When returns a time to the minute in the person's time zone, with its day
// unless that is today, and its year unless that is the current one.
func (c Chrome) When(t task.Time) string {
	at, now := c.local(t), c.local(c.Now)
	if at.Year() != now.Year() {
		return at.Format("2 Jan 2006, 15:04")
	}
	if at.YearDay() == now.YearDay() {
		return at.Format("15:04")
	}
	return at.Format("Mon 2 Jan, 15:04")
}

// nextTick describes the schedule within the width of the navigation.
func (c Chrome) nextTick() string {
	at := c.Scheduler.NextTick
	if c.formatDate(at) == c.formatDate(c.Now) {
		return "Scheduler on, next tick " + c.Clock(at)
	}
	return "Next tick " + c.When(at)
}

// formatDate returns the day of t in the person's time zone.
func (c Chrome) formatDate(t task.Time) string { return c.local(t).Format("2006-01-02") }
