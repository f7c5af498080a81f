// Package chart draws time series: bars, lines, sparklines and tiles, each with
// its numbers as a table.
package chart

import (
	"math"
	"strconv"
)

// Series is one series of a chart: its name, and the class of its color.
type Series struct{ Name, Class string }

// Row is one point in time of a chart: the value of each series. NaN means not
// measured.
type Row struct {
	Name     string // long name, capitalized: "Monday, 2 March"
	Short    string // short name below the chart: "2 Mar"
	Values   []float64
	About    bool     // some of it is estimated
	Link     string   // of the whole row, or ""
	Links    []string // of each value, if they have links
	Selected bool     // the page shows this row
}

// Data is a chart of numbers over time, oldest first.
type Data struct {
	Title      string
	Label      string // what it shows, as a sentence
	Head       string // heading of the time column: "Day"
	Series     []Series
	Rows       []Row
	Linked     bool // rows may have links
	SideBySide bool // bars are side by side, not stacked
	Note       string
	Unit       func(float64) string // formats a number; nil: unchanged
	lines      bool                 // drawn as lines: sums are meaningless
}

// The geometry of a chart: the width of a row and the total height. Browsers
// stretch it to the available space.
const (
	chartStep   = 10
	chartHeight = 100
)

func (c *Data) viewBox() string {
	return "0 0 " + strconv.Itoa(chartStep*max(len(c.Rows), 1)) + " " + strconv.Itoa(chartHeight)
}

func (c *Data) write(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case c.Unit != nil:
		return c.Unit(v)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// cell formats a number in the table.
func (c *Data) cell(r *Row, i int) string {
	if r.About && r.Values[i] != 0 {
		return "≈ " + c.write(r.Values[i])
	}
	return c.write(r.Values[i])
}

// top returns the number at the top edge of bars or, for lines, of each series.
func (c *Data) top(stacked bool) (top float64) {
	for _, r := range c.Rows {
		sum := 0.0
		for _, v := range r.Values {
			if math.IsNaN(v) {
				continue
			}
			if sum += v; !stacked {
				top = max(top, v)
			}
		}
		if stacked {
			top = max(top, sum)
		}
	}
	return top
}

// total sums one series.
func (c *Data) total(i int) (sum float64) {
	for _, r := range c.Rows {
		if !math.IsNaN(r.Values[i]) {
			sum += r.Values[i]
		}
	}
	return sum
}

// sum formats the sum of one series, if it is meaningful.
func (c *Data) sum(i int) string {
	if c.lines {
		return ""
	}
	return c.write(c.total(i))
}

// scale formats the number at the top edge.
func (c *Data) scale() string {
	if top := c.top(!c.lines && !c.SideBySide); top > 0 {
		return c.write(top)
	}
	return ""
}

// grid returns the path of the top, middle and bottom lines.
func (c *Data) grid() string {
	end := strconv.Itoa(chartStep * max(len(c.Rows), 1))
	return "M0 4H" + end + "M0 52H" + end + "M0 99.5H" + end
}

// bar is one rectangle; Link is "" if there is none.
type bar struct{ X, Y, W, H, Class, Link, Label string }

// bars returns the rectangles of one row; a number above 0 is never invisible.
func (c *Data) bars(row int) (list []bar) {
	r := &c.Rows[row]
	top := max(c.top(!c.SideBySide), 1e-9)
	width, left := 8.0, float64(row*chartStep)+1
	if len(c.Rows) < 15 { // few bars need not be very wide
		width, left = 4, float64(row*chartStep)+3
	}
	if c.SideBySide {
		width /= float64(len(c.Series))
	}
	y := float64(chartHeight)
	for i, v := range r.Values {
		if v <= 0 || math.IsNaN(v) {
			continue
		}
		h := max(v/top*(chartHeight-4), 1.5)
		b := bar{W: coord(width), H: coord(h), Class: c.Series[i].Class, Label: r.Name + ": " + c.cell(r, i) + " " + c.Series[i].Name}
		if c.SideBySide {
			b.X, b.Y = coord(left+float64(i)*width), coord(chartHeight-h)
		} else {
			y -= h
			b.X, b.Y = coord(left), coord(max(y, 0))
		}
		if r.Links != nil {
			b.Link = r.Links[i]
		}
		list = append(list, b)
	}
	return list
}

// back returns a bar with the full height of a row, as a pointer target.
func (c *Data) back(row int) bar {
	return bar{
		X: strconv.Itoa(row * chartStep), Y: "0", W: strconv.Itoa(chartStep), H: strconv.Itoa(chartHeight),
		Link: c.Rows[row].Link, Label: c.Rows[row].Name + ": all",
	}
}

// edges returns the names below the chart: the first, the middle and the last.
func (c *Data) edges() []string {
	n := len(c.Rows)
	switch {
	case n == 0:
		return nil
	case n < 3:
		return []string{c.Rows[0].Short, c.Rows[n-1].Short}
	}
	return []string{c.Rows[0].Short, c.Rows[n/2].Short, c.Rows[n-1].Short}
}
