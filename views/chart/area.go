package chart

import (
	"math"
	"strings"
)

// line returns the path of one series. It has gaps where nothing was measured;
// a single measurement is a short line.
func (c *Data) line(series int) string {
	var b strings.Builder
	top := max(c.top(false), 1e-9)
	for i := range c.Rows {
		if math.IsNaN(c.Rows[i].Values[series]) {
			continue
		}
		x, y := c.point(i, series, top)
		before := i > 0 && !math.IsNaN(c.Rows[i-1].Values[series])
		after := i+1 < len(c.Rows) && !math.IsNaN(c.Rows[i+1].Values[series])
		switch {
		case before:
			b.WriteString("L" + coord(x) + " " + coord(y))
		case after:
			b.WriteString("M" + coord(x) + " " + coord(y))
		default:
			b.WriteString("M" + coord(x-3) + " " + coord(y) + "H" + coord(x+3))
		}
	}
	return b.String()
}

// area returns the area below the line of the first series, in parts.
func (c *Data) area() string {
	var b strings.Builder
	top := max(c.top(false), 1e-9)
	for i := 0; i < len(c.Rows); i++ {
		if math.IsNaN(c.Rows[i].Values[0]) {
			continue
		}
		first, _ := c.point(i, 0, top)
		b.WriteString("M" + coord(first) + " 100")
		for ; i < len(c.Rows) && !math.IsNaN(c.Rows[i].Values[0]); i++ {
			x, y := c.point(i, 0, top)
			b.WriteString("L" + coord(x) + " " + coord(y))
		}
		last, _ := c.point(i-1, 0, top)
		b.WriteString("L" + coord(last) + " 100Z")
	}
	return b.String()
}

func (c *Data) point(row, series int, top float64) (x, y float64) {
	return float64(row*chartStep) + chartStep/2, chartHeight - 2 - c.Rows[row].Values[series]/top*(chartHeight-6)
}

// lineClass converts the class of a fill color to that of a stroke.
func lineClass(fill string) string { return "plot-line stroke-" + strings.TrimPrefix(fill, "fill-") }
