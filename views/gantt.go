package views

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskyard/task"
	"taskyard/views/ui"
)

// GanttBar is one line of a timeline. To 0 means that it continues.
type GanttBar struct {
	Label string // short, beside the bar
	What  string // what came of it, in words
	Href  string
	Class string // fill: fill-ok, fill-bad, fill-run, fill-warn or fill-off
	From  task.Time
	To    task.Time
}

// The picture: names on the left, bars on the right, times below.
const (
	ganttWide  = 264
	ganttLeft  = 46
	ganttRight = 256
	ganttStep  = 21 // a bar of 12 and a gap of 9
	ganttRows  = 12
)

// Gantt is a timeline ready to be drawn.
type Gantt struct {
	Bars  []ganttRow
	Ticks []ganttTick
	More  int // bars that are left out
	Said  string
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

// end is the moment at which the bar ends.
func (b GanttBar) end(now task.Time) task.Time {
	if b.To == 0 {
		return now
	}
	return b.To
}

// GanttOf lays the newest bars out over the time that they span, in the order
// of their beginning, by the clock of the reader.
func GanttOf(c Chrome, bars []GanttBar) Gantt {
	now := c.Now
	bars = slices.Clone(bars)
	slices.SortStableFunc(bars, func(a, b GanttBar) int { return cmp.Compare(a.From, b.From) })
	g := Gantt{More: max(0, len(bars)-ganttRows)}
	bars = bars[g.More:]
	if len(bars) == 0 {
		return g
	}
	from, to := bars[0].From, bars[0].end(now)
	for _, b := range bars {
		to = max(to, b.end(now))
	}
	to = max(to, from.Add(time.Minute))
	x := func(t task.Time) float64 {
		return ganttLeft + float64(max(t, from)-from)/float64(to-from)*(ganttRight-ganttLeft)
	}
	words := make([]string, len(bars))
	for i, b := range bars {
		left := min(x(b.From), ganttRight-3)
		g.Bars = append(g.Bars, ganttRow{GanttBar: b, X: ganttX(left), W: ganttX(max(3, x(b.end(now))-left)), Y: i*ganttStep + 4})
		words[i] = b.Label + " " + b.What
	}
	g.Said = "Timeline: " + strings.Join(words, "; ")
	for i := range 4 {
		at := from.Add(time.Duration(i) * to.Sub(from) / 3)
		g.Ticks = append(g.Ticks, ganttTick{
			ganttX(x(at)), []string{"start", "middle", "middle", "end"}[i],
			ganttClock(c.local(at), to.Sub(from)),
		})
	}
	return g
}

func ganttX(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// ganttClock writes a moment as exactly as the span needs it.
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

// TaskBars are the runs of a task and its subtasks, as a timeline shows them.
// A run that has not begun is no bar.
func TaskBars(runs []*task.Run, subtasks []*task.Task, now task.Time) []GanttBar {
	var list []GanttBar
	for _, r := range runs {
		if r.StartedAt == 0 {
			continue
		}
		what := RunSentence(r)
		if r.EndedAt != 0 {
			what += " after " + ui.Dur(r.Duration(now))
		}
		list = append(list, GanttBar{"Run " + r.ID.String(), what, URL.Run(r.ID), outcomeFill(r.Status), r.StartedAt, r.EndedAt})
	}
	for _, t := range subtasks {
		g := ui.GlyphOf(t)
		class := map[ui.Glyph]string{ui.GlyphDone: "fill-ok", ui.GlyphFail: "fill-bad", ui.GlyphWork: "fill-run", ui.GlyphWait: "fill-warn"}[g]
		if class == "" {
			class = "fill-off"
		}
		list = append(list, GanttBar{"#" + t.ID.String(), strings.ToLower(g.Label()) + ": " +
			t.Title, URL.Task(t.ID), class, t.CreatedAt, t.ArchivedAt})
	}
	return list
}
