package ui

import (
	"context"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"

	"taskyard/task"
)

// FoldIndex returns the index of sub in s, ignoring the case of ASCII letters,
// like the search; -1 if it is not found.
func FoldIndex(s, sub string) int {
	return strings.Index(foldASCII(s), foldASCII(sub))
}

func foldASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// Marked is like Visible, with the matches of a search highlighted.
func Marked(s, query string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error { return writeMarked(w, s, query) })
}

func writeMarked(w io.Writer, s, query string) error {
	for query != "" && utf8.ValidString(s) {
		at := FoldIndex(s, query)
		if at < 0 {
			break
		}
		if err := WriteVisible(w, s[:at]); err != nil {
			return err
		}
		if err := writeMark(w, s[at:at+len(query)]); err != nil {
			return err
		}
		s = s[at+len(query):]
	}
	return WriteVisible(w, s)
}

// Spans is like Visible, for a text with known matches.
func Spans(list []task.Span) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		for _, s := range list {
			write := WriteVisible
			if s.Match {
				write = writeMark
			}
			if err := write(w, s.Text); err != nil {
				return err
			}
		}
		return nil
	})
}

func writeMark(w io.Writer, s string) error {
	_, err := io.WriteString(w, "<mark>"+templ.EscapeString(s)+"</mark>")
	return err
}

// Colored is like Marked, with terminal colors.
func Colored(s, query string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		return writeANSI(w, s, func(w io.Writer, s string) error { return writeMarked(w, s, query) })
	})
}
