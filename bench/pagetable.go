package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// The limits of a page: server time, and bytes over the network. Times depend
// on the machine, so only sizes fail the run.
const (
	pageMillis = 30
	pageBytes  = 60_000 // compressed, with headers
)

// pageFigure contains the results of one page.
type pageFigure struct {
	Path   string  `json:"path"`
	N      int     `json:"n"`
	Best   float64 `json:"bestMs"`
	Median float64 `json:"medianMs"`
	P95    float64 `json:"p95Ms"`
	CPU    float64 `json:"cpuMs"` // of the server
	Bytes  int     `json:"bytes"`
	Wire   int     `json:"wireBytes"` // with headers, compressed by gzip

	lap lap
	cpu time.Duration
}

func (f *pageFigure) verdict() string {
	switch {
	case f.Wire > pageBytes:
		return "TOO LARGE"
	case f.Median > pageMillis:
		return "SLOW"
	case f.P95 > pageMillis:
		return "slow at times"
	}
	return "ok"
}

// tooLarge returns the error of a run with a page that was too large; it is
// printed after the tables.
func tooLarge(list []*pageFigure) error {
	var names []string
	for _, f := range list {
		if f.Wire > pageBytes {
			names = append(names, f.Path)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return errors.New("too large: " + strings.Join(names, ", "))
}

// perRound is how often a page is requested per round.
const perRound = 12

// measurePages requests every page, in rounds. Before each request, it makes a
// change, so that the server's caches do not help.
func (b *bench) measurePages(c *yearClient, inst *instance, paths []string) error {
	figures := make([]*pageFigure, len(paths))
	for i, p := range paths {
		figures[i] = &pageFigure{Path: p}
	}
	for round := range b.rounds {
		b.progress("round %d of %d", round+1, b.rounds)
		for _, f := range figures {
			if err := c.measurePage(inst, f); err != nil {
				return err
			}
		}
	}
	for _, f := range figures {
		f.sum()
	}
	b.sheet.pages = figures
	return nil
}

func (c *yearClient) measurePage(inst *instance, f *pageFigure) error {
	req := request("GET", f.Path, c.host, "", "Cookie: "+c.cookie, "Accept: text/html")
	if _, err := c.look.call(req); err != nil { // not measured: it prepares the statements
		return err
	}
	for range perRound {
		if _, err := c.askPage(inst, f); err != nil {
			return err
		}
	}
	return nil
}

// askPage makes a change, requests a page and returns the server's CPU time.
// Then it requests the page as a browser would, for the bytes on the wire.
func (c *yearClient) askPage(inst *instance, f *pageFigure) (time.Duration, error) {
	if err := c.change(); err != nil {
		return 0, err
	}
	headers := []string{"Cookie: " + c.cookie, "Accept: text/html"}
	before, err := inst.cpuExact()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	body, err := c.look.call(request("GET", f.Path, c.host, "", headers...))
	took := time.Since(begin)
	if err != nil {
		return 0, err
	}
	after, err := inst.cpuExact()
	if err != nil {
		return 0, err
	}
	f.lap.add(lap{ops: 1, took: []time.Duration{took}})
	f.cpu += after - before
	f.Bytes = len(body)
	wire := c.look.bytes
	_, err = c.look.call(request("GET", f.Path, c.host, "", append(headers, "Accept-Encoding: gzip")...))
	f.Wire = int(c.look.bytes - wire)
	return after - before, err
}

func (f *pageFigure) sum() {
	f.N = f.lap.ops
	f.Best, f.Median, f.P95 = millis(f.lap.percentile(0)), millis(f.lap.percentile(0.5)), millis(f.lap.percentile(0.95))
	f.CPU = millis(f.cpu / time.Duration(max(f.N, 1)))
}

// printPages prints the table of pages with the limits in its header.
func printPages(out io.Writer, list []*pageFigure) error {
	if len(list) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "best\tmedian\tp95 (≤ %d ms)\tCPU\tkB\tkB on the wire (≤ %d)\tn\t\t page\n", pageMillis, pageBytes/1000)
	for _, f := range list {
		fmt.Fprintf(t, "%.1f\t%.1f\t%.1f\t%.1f\t%.0f\t%.1f\t%d\t%s\t %s\n", f.Best, f.Median, f.P95, f.CPU,
			float64(f.Bytes)/1000, float64(f.Wire)/1000, f.N, f.verdict(), f.Path)
	}
	return t.Flush()
}
