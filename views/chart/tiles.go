package chart

import (
	"strconv"

	"taskyard/views/ui"
)

// Tile is one number at the top of a page.
type Tile struct {
	Name   string
	Value  string
	Small  string // next to it, or ""
	Column string // what its sparkline shows by hour, as a column heading
	Money  bool   // the numbers are US dollars
	Spark  Spark
}

func (t *Tile) cell(i int) string {
	if i >= len(t.Spark.Values) {
		return ""
	}
	if t.Money {
		return ui.USD(t.Spark.Values[i])
	}
	return strconv.FormatFloat(t.Spark.Values[i], 'f', -1, 64)
}
