package views

import (
	"slices"
	"time"

	"taskyard/task"
	"taskyard/views/ui"
)

// estimateFrom is the minimum number of completed runs for an estimate.
const estimateFrom = 3

// estimate is the probable usage of a run, based on the middle half of the
// agent's last completed runs. Texts are "" if unknown.
type estimate struct {
	Runs               int // number of runs that it is based on
	Cost, Tokens, Time string
	TypicalCost        float64 // the median
	TypicalTokens      int
	TypicalTime        time.Duration
	OverTokens         bool // it may exceed its token limit
	Guessed            bool // some of the underlying figures were estimated
}

// newEstimate returns nil if there are too few runs for an estimate.
func newEstimate(recent []task.Run, limits task.Limits) *estimate {
	var costs []float64
	var tokens []int
	var times []time.Duration
	e := &estimate{}
	for i := range recent {
		r := &recent[i]
		if r.Status != task.RunCompleted || r.StartedAt == 0 {
			continue
		}
		costs, tokens, times = append(costs, r.Usage.CostUSD), append(tokens, r.Usage.Tokens()), append(times, r.WorkTime(r.EndedAt))
		e.Guessed = e.Guessed || r.Usage.Estimated
	}
	if e.Runs = len(times); e.Runs < estimateFrom {
		return nil
	}
	lowCost, midCost, highCost := quartiles(costs)
	lowTokens, midTokens, highTokens := quartiles(tokens)
	low, mid, high := quartiles(times)
	e.TypicalCost, e.TypicalTokens, e.TypicalTime = midCost, midTokens, mid
	if highCost > 0 {
		e.Cost = span(ui.Money(lowCost), ui.Money(highCost))
	}
	if highTokens > 0 {
		e.Tokens = span(ui.Tokens(lowTokens), ui.Tokens(highTokens))
	}
	e.Time = span(ui.Dur(low), ui.Dur(high))
	e.OverTokens = limits.MaxTokens > 0 && highTokens > limits.MaxTokens
	return e
}

func quartiles[T int | float64 | time.Duration](list []T) (low, mid, high T) {
	slices.Sort(list)
	n := len(list)
	return list[n/4], list[n/2], list[(3*n)/4]
}

// short returns the estimate for a list: dollars, else tokens, else time.
func (e *estimate) short() string {
	switch {
	case e == nil:
		return ""
	case e.TypicalCost > 0:
		return "~" + ui.Money(e.TypicalCost)
	case e.TypicalTokens > 0:
		return "~" + ui.Tokens(e.TypicalTokens) + " tokens"
	}
	return "~" + ui.Dur(e.TypicalTime)
}

// head returns the main figure and its label.
func (e *estimate) head() (label, figure string) {
	switch {
	case e.Cost != "":
		return "Estimated cost", e.Cost
	case e.Tokens != "":
		return "Estimated tokens", e.Tokens
	}
	return "Estimated time", e.Time
}

// rest returns the other estimates, and what they are based on.
func (e *estimate) rest() string {
	s := ""
	if e.Cost != "" && e.Tokens != "" {
		s += e.Tokens + " tokens, "
	}
	if e.Cost != "" || e.Tokens != "" {
		s += e.Time + ", "
	}
	s += "based on the last " + ui.Count(e.Runs, "completed run", "completed runs")
	if e.Guessed {
		s += ", some of them estimated too"
	}
	return s
}
