package views

import (
	"cmp"
	"strconv"
	"time"

	"taskyard/task"
	"taskyard/views/chart"
	"taskyard/views/ui"
)

// InboxNumbers are what the tiles of the inbox tell.
type InboxNumbers struct {
	task.DayStats
	Zone    *time.Location // of the person; nil: UTC
	Oldest  task.Time      // since when the oldest item has been waiting, 0 for none
	Waiting int
	Running int
}

func (n *InboxNumbers) zone() *time.Location { return cmp.Or(n.Zone, time.UTC) }

// HoursSince returns when the numbers must begin: at the start of today in the
// zone, or of the first hour in the sparklines, whichever is earlier.
func HoursSince(now task.Time, zone *time.Location) task.Time {
	return min(task.TimeFromStd(task.Midnight(now, zone)), task.StatDay(now))
}

// tiles returns the tiles of the inbox and the names of the hours in their
// table, oldest first.
func (n *InboxNumbers) tiles(now task.Time) (list []chart.Tile, hours []string) {
	doneToday, day := 0, task.TimeFromStd(task.Midnight(now, n.Zone))
	for _, r := range n.Hours {
		if r.Hour >= day {
			doneToday += r.Done
		}
	}
	questions := byHour(n.Hours, now, func(r *task.StatRow) float64 { return float64(r.Asked) })
	ended := byHour(n.Hours, now, func(r *task.StatRow) float64 { return float64(r.Runs()) })
	done := byHour(n.Hours, now, doneValue)
	for i := range task.DayHours {
		hours = append(hours, (task.StatDay(now) + task.Time(i)*task.Hour).Std().In(n.zone()).Format("Mon 15:04"))
	}
	return []chart.Tile{
		{
			Name: "Waiting for you", Value: strconv.Itoa(n.Waiting), Small: n.oldest(now), Column: "New",
			Spark: chart.Spark{Label: daySum(questions, "started waiting for a person"), Values: questions},
		},
		{
			Name: "Running now", Value: strconv.Itoa(n.Running), Column: "Runs ended",
			Spark: chart.Spark{Label: daySum(ended, "runs ended"), Values: ended, Line: true},
		},
		{
			Name: "Done today", Value: strconv.Itoa(doneToday), Column: "Tasks done",
			Spark: chart.Spark{Label: daySum(done, "tasks were done"), Values: done, Fill: "fill-ok"},
		},
		costTile(n.Hours, n.Today, n.Budget, now),
	}, hours
}

func (n *InboxNumbers) oldest(now task.Time) string {
	if n.Oldest == 0 {
		return ""
	}
	return "oldest " + ui.Short(now.Sub(n.Oldest))
}

// costTile returns the tile with today's cost and its budget.
func costTile(rows []task.StatRow, today task.Usage, limit task.Budget, now task.Time) chart.Tile {
	cost := byHour(rows, now, func(r *task.StatRow) float64 { return r.CostUSD })
	t := chart.Tile{
		Name: "Cost today", Value: ui.USD(today.CostUSD), Column: "Cost", Money: true,
		Spark: chart.Spark{Label: "Cost of runs that ended, by hour over the last 24 hours: " +
			ui.USD(sum(cost)), Values: cost, Fill: "fill-off"},
	}
	switch {
	case limit.MaxCostUSD > 0:
		t.Small = "of " + ui.USD(limit.MaxCostUSD)
	case today.Tokens() > 0:
		t.Small = ui.Tokens(today.Tokens()) + " tokens"
	}
	return t
}

// byHour returns a number for each hour of a sparkline, 0 if there was no
// activity.
func byHour(rows []task.StatRow, now task.Time, number func(*task.StatRow) float64) []float64 {
	list, first := make([]float64, task.DayHours), task.StatDay(now)
	for i := range rows {
		if at := rows[i].Hour; at >= first && at <= now {
			list[(at-first)/task.Hour] = number(&rows[i])
		}
	}
	return list
}

func doneValue(r *task.StatRow) float64 { return float64(r.Done) }

// daySum returns the description of a sparkline of counts.
func daySum(v []float64, what string) string {
	return number(sum(v)) + " " + what + " in the last 24 hours, by hour"
}

func sum(list []float64) (s float64) {
	for _, v := range list {
		s += v
	}
	return s
}
