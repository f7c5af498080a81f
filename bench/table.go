package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

// row is one figure with all that it is compared with.
type row struct {
	Name    string    `json:"name"`
	Size    int       `json:"tasks"` // in the database
	Callers int       `json:"callers"`
	Rounds  []float64 `json:"rounds"`          // operations a second
	Rate    float64   `json:"rate"`            // median of the rounds
	Limit   float64   `json:"limit,omitempty"` // median of the limit in the same rounds
	Ratio   float64   `json:"ratio,omitempty"` // median of rate to limit, round by round
	P50     float64   `json:"p50Ms"`
	P99     float64   `json:"p99Ms"`
	Aim     string    `json:"aim,omitempty"`

	limits []float64
	took   lap
}

// round adds what one round measured; limit is 0 where there is none.
func (r *row) round(l lap, limit float64) {
	r.Rounds = append(r.Rounds, l.rate())
	if limit > 0 {
		r.limits = append(r.limits, limit)
	}
	r.took.add(l)
}

// finish computes the medians.
func (r *row) finish() {
	r.Rate, r.Limit = median(r.Rounds), median(r.limits)
	ratios := make([]float64, len(r.limits))
	for i := range ratios {
		ratios[i] = r.Rounds[i] / r.limits[i]
	}
	r.Ratio = median(ratios)
	r.P50, r.P99 = millis(r.took.percentile(0.5)), millis(r.took.percentile(0.99))
	r.took = lap{}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

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

// report is what the JSON file holds.
type report struct {
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
	OS   string `json:"os"`
	Rows []*row `json:"rows"`
}

func newReport(rows []*row) report {
	return report{runtime.NumCPU(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, rows}
}

func (r report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func (r report) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "row\ttasks\tcallers\tops/s\tp50 ms\tp99 ms\tlimit\tratio\taim\t")
	for _, x := range r.Rows {
		limit, ratio := "", ""
		if x.Limit > 0 {
			limit, ratio = fmt.Sprintf("%.0f", x.Limit), fmt.Sprintf("%.0f %%", 100*x.Ratio)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%.0f\t%.2f\t%.2f\t%s\t%s\t%s\t\n", x.Name, x.Size, x.Callers, x.Rate, x.P50, x.P99, limit, ratio, x.Aim)
	}
	return t.Flush()
}
