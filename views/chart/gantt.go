package chart

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// GanttBar is one row of a timeline. Its times are in the reader's time zone.
type GanttBar struct {
	Label string // short text next to the bar
	What  string // its outcome, in words
	Href  string
	Class string // fill: fill-ok, fill-bad, fill-run, fill-warn or fill-off
	From  time.Time
	To    time.Time // zero while it continues
	Exact string    // From and To to the second, for a title
}

// The layout: names on the left, bars on the right, times below.
const (
	ganttWide  = 264
	ganttLeft  = 46
	ganttRight = 256
	ganttStep  = 21 // a bar of 12 and a gap of 9
	ganttRows  = 12
)

// Gantt is a timeline that is ready to be drawn.
type Gantt struct {
	Bars  []ganttRow
	Ticks []ganttTick
	More  int // bars that are omitted
	Label string
	now   time.Time
}

type ganttRow struct {
	GanttBar
	X, W string // of the bar
	Y    int    // of its top
}

type ganttTick struct{ X, Anchor, Text string }

func (g Gantt) height() int { return len(g.Bars)*ganttStep + 26 }
func (g Gantt) foot() int   { return len(g.Bars)*ganttStep + 4 }
func (g Gantt) box() string { return "0 0 " + strconv.Itoa(ganttWide) + " " + strconv.Itoa(g.height()) }

func (r ganttRow) textY() string { return strconv.Itoa(r.Y + 9) }

// end returns when the bar ends.
func (b GanttBar) end(now time.Time) time.Time {
	if b.To.IsZero() {
		return now
	}
	return b.To
}

// NewGantt lays out the newest bars over the time that they span, ordered by
// start.
func NewGantt(now time.Time, bars []GanttBar) Gantt {
	bars = slices.Clone(bars)
	slices.SortStableFunc(bars, func(a, b GanttBar) int { return a.From.Compare(b.From) })
	g := Gantt{now: now, More: max(0, len(bars)-ganttRows)}
	bars = bars[g.More:]
	if len(bars) == 0 {
		return g
	}
	from, to := bars[0].From, bars[0].end(now)
	for _, b := range bars {
		to = later(to, b.end(now))
	}
	to = later(to, from.Add(time.Minute))
	x := func(t time.Time) float64 {
		return ganttLeft + float64(later(t, from).Sub(from))/float64(to.Sub(from))*(ganttRight-ganttLeft)
	}
	words := make([]string, len(bars))
	for i, b := range bars {
		left := min(x(b.From), ganttRight-3)
		g.Bars = append(g.Bars, ganttRow{GanttBar: b, X: coord(left), W: coord(max(3, x(b.end(now))-left)), Y: i*ganttStep + 4})
		words[i] = b.Label + " " + b.What
	}
	g.Label = "Timeline: " + strings.Join(words, "; ")
	for i := range 4 {
		at := from.Add(time.Duration(i) * to.Sub(from) / 3)
		g.Ticks = append(g.Ticks, ganttTick{
			coord(x(at)), []string{"start", "middle", "middle", "end"}[i],
			ganttClock(at, to.Sub(from)),
		})
	}
	return g
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// ganttClock formats a time with the precision that the span needs.
func ganttClock(t time.Time, span time.Duration) string {
	switch {
	case span > 4*24*time.Hour:
		return t.Format("Jan 2")
	case span > 24*time.Hour:
		return t.Format("Mon 15h")
	case span < 5*time.Minute:
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}
