package views

import (
	"slices"
	"time"

	"taskyard/task"
	"taskyard/views/ui"
)

// estimateFrom is how many completed runs an estimate needs.
const estimateFrom = 3

// estimate is what a run will probably use, by the agent's last completed
// runs: the middle half of them, as people read it. Words are "" where it is
// not known.
type estimate struct {
	Runs               int // it rests on so many
	Cost, Tokens, Time string
	TypicalCost        float64 // the middle one
	TypicalTokens      int
	TypicalTime        time.Duration
	OverTokens         bool // it may well use more tokens than its limit
	Guessed            bool // some figures that it rests on were estimated
}

// newEstimate returns nil when history does not allow an estimate.
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
		costs, tokens, times = append(costs, r.Usage.CostUSD), append(tokens, r.Usage.Tokens()), append(times, r.Worked(r.EndedAt))
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

// short says the estimate in a word for a list: dollars, else tokens, else
// time.
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

// head is the figure shown large, and what it is.
func (e *estimate) head() (label, figure string) {
	switch {
	case e.Cost != "":
		return "Estimated cost", e.Cost
	case e.Tokens != "":
		return "Estimated tokens", e.Tokens
	}
	return "Estimated time", e.Time
}

// rest says what else is estimated, and on what it rests.
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
