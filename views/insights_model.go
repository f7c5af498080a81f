package views

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"taskyard/task"
	"taskyard/views/chart"
	"taskyard/views/ui"
)

// InsightsModel contains statistics over time.
type InsightsModel struct {
	task.Insights
	Query  InsightQuery
	Zone   *time.Location // time zone for hours and days
	Agents []string       // choices of the filter
}

// insightRanges are the available time ranges.
var insightRanges = []struct {
	name, label, words string
	span               time.Duration
}{
	{"24h", "24 h", "the last 24 hours", 24 * time.Hour},
	{"7d", "7 d", "the last 7 days", 7 * 24 * time.Hour},
	{"30d", "30 d", "the last 30 days", 30 * 24 * time.Hour},
	{"90d", "90 d", "the last 90 days", 90 * 24 * time.Hour},
}

const usualRange = "7d"

// InsightSpan returns the duration of a range. It returns an error for an
// unknown name.
func InsightSpan(name string) (time.Duration, error) {
	for _, r := range insightRanges {
		if r.name == cmp.Or(name, usualRange) {
			return r.span, nil
		}
	}
	return 0, task.FieldErrorf("range", "must be 24h, 7d, 30d or 90d")
}

func (m *InsightsModel) rangeText() string {
	for _, r := range insightRanges {
		if r.name == cmp.Or(m.Query.Range, usualRange) {
			return r.words
		}
	}
	return ""
}

// isEmpty reports whether there was no activity.
func (m *InsightsModel) isEmpty() bool {
	t := m.Total.StatRow
	return t == (task.StatRow{}) && !m.queued()
}

// queued reports whether a queue ever had a task.
func (m *InsightsModel) queued() bool {
	for _, t := range m.Times {
		if t.Depth != nil && t.Depth.Queued+t.Depth.Working > 0 {
			return true
		}
	}
	return false
}

// numbers extracts the values of a row in a chart.
type numbers func(t *task.InsightTime) []float64

// chart returns a chart of all rows; words describe what it shows.
func (m *InsightsModel) chart(title, words string, series []chart.Series, of numbers) chart.Data {
	c := chart.Data{Title: title, Label: words + ", by hour, in " + m.rangeText(), Head: "Hour", Series: series}
	if m.Daily {
		c.Label, c.Head = words+", by day, in "+m.rangeText(), "Day"
	}
	zone := cmp.Or(m.Zone, time.UTC)
	for i := range m.Times {
		at := m.Times[i].Hour.Std().In(zone)
		r := chart.Row{Name: at.Format("Mon 2 Jan, 15:04"), Short: at.Format("15:04"), Values: of(&m.Times[i])}
		if m.Daily {
			r.Name, r.Short = at.Format("Mon 2 Jan"), at.Format("2 Jan")
		}
		c.Rows = append(c.Rows, r)
	}
	return c
}

func (m *InsightsModel) throughput() chart.Data {
	t := &m.Total
	words := ui.Count(t.Created, "task", "tasks") + " created, " + strconv.Itoa(t.Done) + " done, " + strconv.Itoa(t.Canceled) + " canceled"
	series := []chart.Series{
		{Name: "created", Class: "fill-accent"},
		{Name: "done", Class: "fill-ok"},
		{Name: "canceled", Class: "fill-off"},
	}
	c := m.chart("Tasks", words, series, func(t *task.InsightTime) []float64 {
		return []float64{float64(t.Created), float64(t.Done), float64(t.Canceled)}
	})
	c.SideBySide = true
	return c
}

func (m *InsightsModel) depth() chart.Data {
	none := []float64{math.NaN(), math.NaN(), math.NaN()}
	c := m.chart("Queue", "Active tasks that are queued, worked on, or wait for a person", []chart.Series{
		{Name: "queued", Class: "fill-accent"},
		{Name: "working", Class: "fill-run"},
		{Name: "waiting for a person", Class: "fill-warn"},
	}, func(t *task.InsightTime) []float64 {
		if t.Depth == nil {
			return none
		}
		return []float64{float64(t.Depth.Queued), float64(t.Depth.Working), float64(t.Depth.Waiting)}
	})
	c.Note = "At the end of each hour; gaps were not measured."
	if m.Daily {
		c.Note = "The longest queue of each day; gaps were not measured."
	}
	return c
}

func (m *InsightsModel) outcomes() chart.Data {
	t := &m.Total
	words := ui.Count(t.RunsCompleted, "run", "runs") + " completed, " + strconv.Itoa(t.RunsFailed) +
		" failed, " + strconv.Itoa(t.RunsCanceled) + " canceled"
	return m.chart("Runs", words, []chart.Series{
		{Name: "completed", Class: "fill-ok"},
		{Name: "failed", Class: "fill-bad"},
		{Name: "canceled", Class: "fill-off"},
	}, func(t *task.InsightTime) []float64 {
		return []float64{float64(t.RunsCompleted), float64(t.RunsFailed), float64(t.RunsCanceled)}
	})
}

func (m *InsightsModel) durations() chart.Data {
	words := "Completed runs: median " + msText(m.Total.P50Ms) + ", p95 " + msText(m.Total.P95Ms)
	if m.Total.P50Ms == 0 {
		words = "No run was completed"
	}
	c := m.chart("Durations", words, []chart.Series{
		{Name: "median", Class: "fill-accent"},
		{Name: "p95", Class: "fill-warn"},
	}, func(t *task.InsightTime) []float64 {
		if t.RunsCompleted == 0 || t.P95Ms == 0 {
			return []float64{math.NaN(), math.NaN()}
		}
		return []float64{float64(t.P50Ms), float64(t.P95Ms)}
	})
	c.Unit = func(v float64) string { return ui.Dur(time.Duration(v) * time.Millisecond) }
	if m.Cut {
		c.Note = "Only the newest runs were measured, because there were too many."
	}
	return c
}

func (m *InsightsModel) tokens() chart.Data {
	t := &m.Total
	c := m.chart("Tokens", approx(m.Total.Estimated, ui.Tokens(t.TokensIn)+" tokens read, "+ui.Tokens(t.TokensOut)+" written"), []chart.Series{
		{Name: "in", Class: "fill-accent"},
		{Name: "out", Class: "fill-run"},
	}, func(t *task.InsightTime) []float64 {
		return []float64{float64(t.TokensIn), float64(t.TokensOut)}
	})
	c.Unit = func(v float64) string { return ui.Tokens(int(v)) }
	m.mark(&c)
	return c
}

func (m *InsightsModel) cost() chart.Data {
	c := m.chart("Cost", approx(m.Total.Estimated, ui.Money(m.Total.CostUSD)), []chart.Series{
		{Name: "US dollars", Class: "fill-accent"},
	}, func(t *task.InsightTime) []float64 { return []float64{t.CostUSD} })
	c.Unit = ui.Money
	m.mark(&c)
	return c
}

// mark marks the rows with estimated figures.
func (m *InsightsModel) mark(c *chart.Data) {
	for i := range c.Rows {
		c.Rows[i].About = m.Times[i].Estimated
	}
	if m.Total.Estimated {
		c.Note = "≈ is partly estimated: a runner did not report its usage."
	}
}

func msText(ms int64) string {
	if ms == 0 {
		return "–"
	}
	return ui.Dur(time.Duration(ms) * time.Millisecond)
}

// success returns the share of ended runs that completed: "92%".
func success(r *task.StatRow) string {
	if r.Runs() == 0 {
		return "–"
	}
	return strconv.Itoa(r.RunsCompleted*100/r.Runs()) + "%"
}
