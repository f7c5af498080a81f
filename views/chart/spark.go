package chart

import (
	"cmp"
	"strconv"
	"strings"
)

// Spark is a sparkline of numbers, oldest first.
type Spark struct {
	Label  string // what it shows, as a sentence
	Values []float64
	Line   bool   // a line with its area; otherwise bars
	Fill   string // class of the bars; "": the accent color
}

const (
	sparkWidth  = 70
	sparkHeight = 24
)

type sparkBar struct{ X, Y, W, H string }

// bars returns the bars of the numbers; a number above 0 is never invisible.
func (s Spark) bars() []sparkBar {
	if len(s.Values) == 0 {
		return nil
	}
	step := float64(sparkWidth) / float64(len(s.Values))
	top := s.top()
	list := make([]sparkBar, 0, len(s.Values))
	for i, v := range s.Values {
		h := 1.0
		if v > 0 {
			h = max(2.5, v/top*sparkHeight)
		}
		list = append(list, sparkBar{X: coord(float64(i) * step), Y: coord(sparkHeight - h), W: coord(step * .75), H: coord(h)})
	}
	return list
}

func (s Spark) top() float64 {
	top := 0.0
	for _, v := range s.Values {
		top = max(top, v)
	}
	if top == 0 {
		return 1
	}
	return top
}

// line returns the path through the numbers, and area the same closed at the
// bottom.
func (s Spark) line() string {
	var b strings.Builder
	top := s.top()
	step := float64(sparkWidth-4) / float64(max(len(s.Values)-1, 1))
	for i, v := range s.Values {
		command := "L"
		if i == 0 {
			command = "M"
		}
		b.WriteString(command + coord(1+float64(i)*step) + " " + coord(sparkHeight-2-v/top*(sparkHeight-4)))
	}
	return b.String()
}

func (s Spark) area() string {
	step := float64(sparkWidth-4) / float64(max(len(s.Values)-1, 1))
	end := 1 + float64(max(len(s.Values)-1, 0))*step
	return s.line() + "L" + coord(end) + " " + strconv.Itoa(sparkHeight) + "L1 " + strconv.Itoa(sparkHeight) + "Z"
}

func (s Spark) fill() string { return cmp.Or(s.Fill, "fill-accent") }

func coord(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
