package views

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
	"github.com/aymanbagabas/go-udiff"

	"taskyard/views/ui"
)

// diffLine is one line of a comparison: unchanged (' '), removed ('-'), added
// ('+'), or the number of omitted unchanged lines ('@').
type diffLine struct {
	Kind byte
	Text string
}

const diffContext = 2 // unchanged lines around a change

var diffKinds = map[udiff.OpKind]byte{udiff.Equal: ' ', udiff.Delete: '-', udiff.Insert: '+'}

// compareLines compares two texts line by line; nil if they are equal.
func compareLines(before, after string) (list []diffLine) {
	before, after = endLine(before), endLine(after)
	diff, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), diffContext)
	if err != nil {
		panic(err) // impossible: the edits belong to this text
	}
	next := 1 // the first line of before that is not in list; counted from 1
	fold := func(until int) {
		if n := until - next; n > 0 {
			list = append(list, diffLine{'@', ui.Count(n, "unchanged line", "unchanged lines")})
		}
	}
	for _, h := range diff.Hunks {
		fold(h.FromLine)
		next = h.FromLine
		for _, l := range h.Lines {
			kind := diffKinds[l.Kind]
			list = append(list, diffLine{kind, strings.TrimSuffix(l.Content, "\n")})
			if kind != '+' {
				next++
			}
		}
	}
	if list != nil {
		fold(strings.Count(before, "\n") + 1)
	}
	return list
}

// endLine adds a missing final newline.
func endLine(s string) string {
	if s == "" {
		return ""
	}
	return s + "\n"
}

// diffBlock renders a comparison. The texts are untrusted. It does not use
// templ, which may add white space.
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
			if err := ui.WriteVisible(&b, l.Text); err != nil {
				return err
			}
			b.WriteString("</" + tag + ">")
		}
		b.WriteString("</div>")
		_, err := io.WriteString(w, b.String())
		return err
	})
}
