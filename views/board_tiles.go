package views

import (
	"slices"
	"strconv"
	"time"

	"taskyard/task"
	"taskyard/views/chart"
	"taskyard/views/ui"
)

// tiles returns the tiles above the board.
func (s *QueueStats) tiles(now task.Time) []chart.Tile {
	done, depth, took := byHour(s.Rows, now, doneValue), s.depth(now), s.took(now)
	return []chart.Tile{
		{Name: "Done, last 24 h", Value: strconv.Itoa(s.Done24h), Spark: chart.Spark{Label: daySum(done, "tasks were done"), Values: done}},
		{
			Name: "Waiting in queues", Value: strconv.Itoa(s.Waiting), Small: s.oldest(),
			Spark: chart.Spark{Label: "Waiting tasks by hour over the last 24 hours, at most " +
				number(slices.Max(depth)), Values: depth, Line: true},
		},
		{
			Name: "Median run", Value: s.median(), Small: s.runs(now),
			Spark: chart.Spark{Label: "Mean duration of runs by hour over the last 24 hours, at most " +
				ui.Dur(time.Duration(slices.Max(took))*time.Millisecond), Values: took, Line: true},
		},
		costTile(s.Rows, s.Today, s.Budget, now),
	}
}

// depth returns the number of waiting tasks by hour. Hours without a
// measurement repeat the previous one.
func (s *QueueStats) depth(now task.Time) []float64 {
	list, last := make([]float64, task.DayHours), 0.0
	for i := range list {
		if d, looked := s.Depths[task.StatDay(now)+task.Time(i)*task.Hour]; looked {
			last = float64(d.Queued)
		}
		list[i] = last
	}
	list[task.DayHours-1] = float64(s.Waiting)
	return list
}

// took returns the mean duration of runs in ms by hour. Hours without a run
// repeat the previous one.
func (s *QueueStats) took(now task.Time) []float64 {
	list := byHour(s.Rows, now, func(r *task.StatRow) float64 { return float64(r.Millis) / float64(max(r.Runs(), 1)) })
	for i := 1; i < len(list); i++ {
		if list[i] == 0 {
			list[i] = list[i-1]
		}
	}
	return list
}

func (s *QueueStats) oldest() string {
	if s.Waiting == 0 || s.Oldest == 0 {
		return ""
	}
	return "oldest " + ui.Dur(s.Oldest)
}

func (s *QueueStats) median() string {
	if s.MedianRun == 0 {
		return "–"
	}
	return ui.Dur(s.MedianRun)
}

// runs counts the runs that ended in the last 24 hours, and those that failed.
func (s *QueueStats) runs(now task.Time) string {
	ended := sum(byHour(s.Rows, now, func(r *task.StatRow) float64 { return float64(r.Runs()) }))
	failed := sum(byHour(s.Rows, now, func(r *task.StatRow) float64 { return float64(r.RunsFailed) }))
	if failed > 0 {
		return number(failed) + " of " + number(ended) + " failed"
	}
	return ""
}
