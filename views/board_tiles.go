package views

import (
	"slices"
	"strconv"
	"time"

	"taskyard/task"
	"taskyard/views/chart"
	"taskyard/views/ui"
)

// boardTiles returns the tiles above the board.
func boardTiles(s *task.BoardDay, now task.Time) []chart.Tile {
	done, depth, took := byHour(s.Hours, now, doneValue), queueLengths(s, now), runDurations(s, now)
	return []chart.Tile{
		{Name: "Done, last 24 h", Value: strconv.Itoa(s.Done24h), Spark: chart.Spark{Label: daySum(done, "tasks were done"), Values: done}},
		{
			Name: "Waiting in queues", Value: strconv.Itoa(s.Waiting), Small: oldestText(s, now),
			Spark: chart.Spark{Label: "Waiting tasks by hour over the last 24 hours, at most " +
				number(slices.Max(depth)), Values: depth, Line: true},
		},
		{
			Name: "Median run", Value: msText(s.MedianRunMs), Small: failedText(s, now),
			Spark: chart.Spark{Label: "Mean duration of runs by hour over the last 24 hours, at most " +
				ui.Dur(time.Duration(slices.Max(took))*time.Millisecond), Values: took, Line: true},
		},
		costTile(s.Hours, s.Today, s.Budget, now),
	}
}

// queueLengths returns the number of waiting tasks by hour. Hours without a
// measurement repeat the previous one.
func queueLengths(s *task.BoardDay, now task.Time) []float64 {
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

// runDurations returns the mean duration of runs in ms by hour. Hours without a run
// repeat the previous one.
func runDurations(s *task.BoardDay, now task.Time) []float64 {
	list := byHour(s.Hours, now, func(r *task.StatRow) float64 { return float64(r.Millis) / float64(max(r.Runs(), 1)) })
	for i := 1; i < len(list); i++ {
		if list[i] == 0 {
			list[i] = list[i-1]
		}
	}
	return list
}

func oldestText(s *task.BoardDay, now task.Time) string {
	if s.Waiting == 0 || s.OldestAt == 0 || s.OldestAt >= now {
		return ""
	}
	return "oldest " + ui.Dur(now.Sub(s.OldestAt))
}

// failedText counts the runs that ended in the last 24 hours, and those that failed.
func failedText(s *task.BoardDay, now task.Time) string {
	ended := sum(byHour(s.Hours, now, func(r *task.StatRow) float64 { return float64(r.Runs()) }))
	failed := sum(byHour(s.Hours, now, func(r *task.StatRow) float64 { return float64(r.RunsFailed) }))
	if failed > 0 {
		return number(failed) + " of " + number(ended) + " failed"
	}
	return ""
}
