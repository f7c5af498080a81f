package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// target is the limit of a result, and a stricter goal. The zero target has no limit:
// the result is informational.
type target struct {
	Must   float64 `json:"must,omitempty"`
	Goal   float64 `json:"goal,omitempty"`
	AtMost bool    `json:"most,omitempty"` // must and goal are upper bounds
}

func atLeast(must, goal float64) target { return target{must, goal, false} }
func atMost(must, goal float64) target  { return target{must, goal, true} }

// verdict returns "goal", "ok" or "MISS", or "" if there is no limit.
func (t target) verdict(v float64) string {
	reaches := func(bound float64) bool {
		if t.AtMost {
			return v <= bound
		}
		return v >= bound
	}
	switch {
	case t == target{}:
		return ""
	case reaches(t.Goal):
		return "goal"
	case reaches(t.Must):
		return "ok"
	}
	return "MISS"
}

// figure is one row: a value that was measured in one or more rounds.
type figure struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Value  float64   `json:"value"`  // median of the rounds
	Rounds []float64 `json:"rounds"` // in order
	target
	Verdict string `json:"verdict,omitempty"`
}

// sheet collects figures in order of first occurrence.
type sheet struct {
	figures []*figure
	pages   []*pageFigure
}

// add records the value of one round.
func (s *sheet) add(name, unit string, t target, v float64) {
	i := slices.IndexFunc(s.figures, func(f *figure) bool { return f.Name == name })
	if i < 0 {
		i = len(s.figures)
		s.figures = append(s.figures, &figure{Name: name, Unit: unit, target: t})
	}
	f := s.figures[i]
	f.Rounds = append(f.Rounds, v)
	f.Value = median(f.Rounds)
	f.Verdict = t.verdict(f.Value)
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// report is the content of the JSON file.
type report struct {
	CPUs    int           `json:"cpus"`
	Go      string        `json:"go"`
	OS      string        `json:"os"`
	Figures []*figure     `json:"figures"`
	Pages   []*pageFigure `json:"pages,omitempty"`
}

func newReport(s *sheet) report {
	return report{runtime.NumCPU(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, s.figures, s.pages}
}

func (r report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func (r report) print(w io.Writer) error {
	if err := printPages(w, r.Pages); err != nil || len(r.Figures) == 0 {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "row\tvalue\tmust\tgoal\t")
	for _, f := range r.Figures {
		must, goal := "", ""
		if f.target != (target{}) {
			sign := "≥ "
			if f.AtMost {
				sign = "≤ "
			}
			must, goal = sign+number(f.Must), sign+number(f.Goal)
		}
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%s\t%s\n", f.Name, number(f.Value), f.Unit, must, goal, f.Verdict)
	}
	return t.Flush()
}

// number formats v with about three digits, and commas between thousands.
func number(v float64) string {
	digits := 2
	switch {
	case v >= 100:
		digits = 0
	case v >= 10:
		digits = 1
	}
	s := fmt.Sprintf("%.*f", digits, v)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if v >= 1000 {
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
	}
	return s
}
