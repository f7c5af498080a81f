package views

import (
	"slices"
	"testing"
	"time"

	"taskyard/task"
)

func TestBoardTiles(t *testing.T) {
	t.Parallel()
	now := task.TimeFromStd(time.Date(2026, 5, 4, 12, 40, 0, 0, time.UTC))
	first := task.StatDay(now)
	s := task.BoardDay{
		Done24h: 3, Waiting: 4, OldestAt: now - task.Hour, MedianRunMs: 60_000,
		DayStats: task.DayStats{Hours: []task.StatRow{
			{Hour: first - task.Hour, Done: 50, RunsFailed: 9, Millis: 1e6},
			{Hour: first + 2*task.Hour, Done: 2, RunsCompleted: 3, RunsFailed: 1, Millis: 8000},
			{Hour: first + 23*task.Hour, Done: 1},
		}},
		Depths: map[task.Time]task.Depth{first + task.Hour: {Queued: 7}, first + 23*task.Hour: {Queued: 9}},
	}
	tiles := boardTiles(&s, now)
	if len(tiles) != 4 {
		t.Fatalf("got %d tiles", len(tiles))
	}
	for i, want := range []struct {
		what string
		from int
		list []float64
	}{
		{"tasks done", 1, []float64{0, 2, 0}},
		{"queue lengths stay constant between samples", 0, []float64{0, 7, 7, 7}},
		{"durations stay constant until the next run", 1, []float64{0, 2000, 2000}},
	} {
		if got := tiles[i].Spark.Values; len(got) != task.DayHours || !slices.Equal(got[want.from:want.from+len(want.list)], want.list) {
			t.Errorf("%s: got %v", want.what, got)
		}
	}
	if got := tiles[1].Spark.Values[task.DayHours-1]; got != 4 {
		t.Errorf("last hour of the queues: got %v, want the tasks that wait now", got)
	}
	if tiles[2].Small != "1 of 4 failed" {
		t.Errorf("runs: got %q", tiles[2].Small)
	}
}

func TestTheNumbersBeginWithTheFirstHourOfTheCharts(t *testing.T) {
	t.Parallel()
	now := task.TimeFromStd(time.Date(2026, 5, 4, 12, 40, 0, 0, time.UTC))
	want := task.TimeFromStd(time.Date(2026, 5, 3, 13, 0, 0, 0, time.UTC))
	if got := HoursSince(now, time.UTC); got != want {
		t.Errorf("got start %s, want %s", got, want)
	}
	if got := HoursSince(now, time.FixedZone("west", -13*3600)); got != want {
		t.Errorf("if today began at the same time: got start %s, want %s", got, want)
	}
}
