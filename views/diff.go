package views

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"taskyard/views/ui"
)

// diffLine is one line of a comparison: kept (' '), taken away ('-'), added
// ('+'), or a mark that lines which did not change are left out ('@').
type diffLine struct {
	Kind byte
	Text string
}

const (
	diffContext = 2         // lines around a change
	diffCells   = 4_000_000 // bound of the table; longer changes are shown as a whole
)

// compareLines compares two texts line by line; nil when they are the same.
func compareLines(before, after string) []diffLine {
	if before == after {
		return nil
	}
	a, b := splitLines(before), splitLines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var list []diffLine
	add := func(kind byte, lines []string) {
		for _, l := range lines {
			list = append(list, diffLine{kind, l})
		}
	}
	add(' ', a[:head])
	list = append(list, diffMiddle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	add(' ', a[len(a)-tail:])
	return foldDiff(list)
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// diffMiddle finds the longest common lines of two short texts.
func diffMiddle(a, b []string) (list []diffLine) {
	if len(a)*len(b) > diffCells {
		for _, l := range a {
			list = append(list, diffLine{'-', l})
		}
		for _, l := range b {
			list = append(list, diffLine{'+', l})
		}
		return list
	}
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			list = append(list, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[(i+1)*width+j] >= common[i*width+j+1]):
			list = append(list, diffLine{'-', a[i]})
			i++
		default:
			list = append(list, diffLine{'+', b[j]})
			j++
		}
	}
	return list
}

// foldDiff leaves out what lies far from any change.
func foldDiff(list []diffLine) (out []diffLine) {
	near := make([]bool, len(list))
	for i, l := range list {
		if l.Kind != ' ' {
			for k := max(0, i-diffContext); k <= min(len(list)-1, i+diffContext); k++ {
				near[k] = true
			}
		}
	}
	for i, l := range list {
		switch {
		case near[i]:
			out = append(out, l)
		case i == 0 || near[i-1]:
			n := len(list) - i
			if at := slices.Index(near[i:], true); at >= 0 {
				n = at
			}
			out = append(out, diffLine{'@', ui.Count(n, "line as before", "lines as before")})
		}
	}
	return out
}

// diffBlock shows a comparison. The texts are untrusted; it is written here
// and not in templ, which may add white space.
func diffBlock(name string, lines []diffLine) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		b.WriteString(`<div class="code wrap diff" tabindex="0" role="region" aria-label="Changes of: ` + templ.EscapeString(name) + `">`)
		for _, l := range lines {
			tag, class := "span", ""
			switch l.Kind {
			case '+':
				tag, class = "ins", ` class="add"`
			case '-':
				tag, class = "del", ` class="del"`
			case '@':
				class = ` class="hunk"`
			}
			b.WriteString("<" + tag + class + ">")
			if err := writeVisible(&b, l.Text); err != nil {
				return err
			}
			b.WriteString("</" + tag + ">")
		}
		b.WriteString("</div>")
		_, err := io.WriteString(w, b.String())
		return err
	})
}
