package views

import (
	"fmt"
	"slices"
	"time"

	"taskyard/task"
	"taskyard/views/ui"
)

// stripBar is one bar of the chart of recent runs, in its coordinates.
type stripBar struct {
	X, Y, W, H int
	Class      string
}

const (
	stripRuns   = 12
	stripHeight = 44
	stripStep   = 19 // a bar of 13 and a gap of 6
)

// stripBars converts runs, newest first, to bars, oldest on the left. The
// height is the duration relative to the longest; the color is the outcome.
func stripBars(runs []task.Run, now task.Time) []stripBar {
	runs = lastRuns(runs)
	longest := time.Second
	for i := range runs {
		longest = max(longest, runs[i].Duration(now))
	}
	bars := make([]stripBar, len(runs))
	for i := range runs {
		h := max(4, int(float64(stripHeight-2)*float64(runs[i].Duration(now))/float64(longest)))
		bars[len(runs)-1-i] = stripBar{
			X: (len(runs) - 1 - i) * stripStep, Y: stripHeight - h, W: 13, H: h,
			Class: outcomeFill(runs[i].Status),
		}
	}
	return bars
}

func lastRuns(runs []task.Run) []task.Run { return runs[:min(len(runs), stripRuns)] }

// outcomeFill returns the fill class of a run's outcome.
func outcomeFill(s task.RunStatus) string {
	switch s {
	case task.RunCompleted:
		return "fill-ok"
	case task.RunFailed:
		return "fill-bad"
	case task.RunRunning:
		return "fill-run"
	}
	return "fill-off"
}

// stripText describes the chart in a sentence: "11 ok, 1 failed, median 3m
// 12s".
func stripText(runs []task.Run, now task.Time) string {
	runs = lastRuns(runs)
	if len(runs) == 0 {
		return "no runs yet"
	}
	var ok, failed, canceled int
	var took []time.Duration
	for i := range runs {
		switch runs[i].Status {
		case task.RunCompleted:
			ok++
		case task.RunFailed:
			failed++
		case task.RunCanceled:
			canceled++
		}
		if d := runs[i].Duration(now); d > 0 {
			took = append(took, d)
		}
	}
	s := fmt.Sprintf("%d ok, %d failed", ok, failed)
	if canceled > 0 {
		s += fmt.Sprintf(", %d canceled", canceled)
	}
	if len(took) > 0 {
		slices.Sort(took)
		s += ", median " + ui.Dur(took[len(took)/2])
	}
	return s
}
