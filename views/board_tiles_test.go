package views

import (
	"slices"
	"testing"
	"time"

	"taskyard/task"
)

func TestTilesOfTheBoard(t *testing.T) {
	now := task.TimeFromStd(time.Date(2026, 5, 4, 12, 40, 0, 0, time.UTC))
	first := task.StatDay(now)
	s := QueueStats{
		Done24h: 3, Waiting: 4, Oldest: time.Hour, MedianRun: time.Minute,
		Rows: []task.StatRow{
			{Hour: first - task.Hour, Done: 50, RunsFailed: 9, Millis: 1e6},
			{Hour: first + 2*task.Hour, Done: 2, RunsCompleted: 3, RunsFailed: 1, Millis: 8000},
			{Hour: first + 23*task.Hour, Done: 1},
		},
		Depths: map[task.Time]task.Depth{first + task.Hour: {Queued: 7}, first + 23*task.Hour: {Queued: 9}},
	}
	tiles := s.tiles(now)
	if len(tiles) != 4 {
		t.Fatalf("%d tiles", len(tiles))
	}
	for i, want := range []struct {
		what string
		from int
		list []float64
	}{
		{"tasks done", 1, []float64{0, 2, 0}},
		{"queues keep their length until somebody looks", 0, []float64{0, 7, 7, 7}},
		{"durations continue until the next run", 1, []float64{0, 2000, 2000}},
	} {
		if got := tiles[i].Spark.Values; len(got) != task.DayHours || !slices.Equal(got[want.from:want.from+len(want.list)], want.list) {
			t.Errorf("%s: %v", want.what, got)
		}
	}
	if got := tiles[1].Spark.Values[task.DayHours-1]; got != 4 {
		t.Errorf("the last hour of the queues is %v, not what waits now", got)
	}
	if tiles[2].Small != "1 of 4 failed" {
		t.Errorf("runs: %q", tiles[2].Small)
	}
}

func TestTheNumbersBeginWithTheFirstHourOfThePictures(t *testing.T) {
	now := task.TimeFromStd(time.Date(2026, 5, 4, 12, 40, 0, 0, time.UTC))
	want := task.TimeFromStd(time.Date(2026, 5, 3, 13, 0, 0, 0, time.UTC))
	if got := HoursSince(now, time.UTC); got != want {
		t.Errorf("they begin at %s, want %s", got, want)
	}
	if got := HoursSince(now, time.FixedZone("west", -13*3600)); got != want {
		t.Errorf("where today began as early they begin at %s, want %s", got, want)
	}
}
