package chart

import (
	"strconv"

	"taskyard/views/ui"
)

// Tile is one number above a page.
type Tile struct {
	Name   string
	Value  string
	Small  string // beside it, or ""
	Column string // what its picture shows by hour, as the head of a column
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
