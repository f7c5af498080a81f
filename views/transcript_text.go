package views

import (
	"context"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"

	"taskyard/task"
)

// TranscriptView is how a part of a transcript is shown.
type TranscriptView struct {
	Query string         // its hits are marked
	At    task.ID        // the line that is asked for
	Zone  *time.Location // of the reader; nil is UTC
}

// Bounds of what a page shows of one text at first.
const (
	cutChars = 2000
	cutLines = 60
	cutAhead = 200 // characters before the first hit
)

// shown is the part of a text that a page shows at first.
type shown struct {
	Text          string
	Before, After bool // something is left out there
}

// shownPart cuts a text, to its start or to its first hit.
func shownPart(s, query string) shown {
	p := shown{Text: s}
	if at := foldIndex(s, query); query != "" && at > cutChars-cutAhead {
		from := at - cutAhead
		for !utf8.RuneStart(s[from]) {
			from--
		}
		p.Text, p.Before = s[from:], true
	}
	lines, chars := 0, 0
	for i, r := range p.Text {
		if chars == cutChars || lines == cutLines {
			p.Text, p.After = p.Text[:i], true
			break
		}
		chars++
		if r == '\n' {
			lines++
		}
	}
	return p
}

// foldIndex finds sub in s, letters of ASCII in either case, as the search
// does; -1 when it is not there.
func foldIndex(s, sub string) int {
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

// writeMarked is writeVisible with each hit of a search marked.
func writeMarked(w io.Writer, s, query string) error {
	for query != "" && utf8.ValidString(s) {
		at := foldIndex(s, query)
		if at < 0 {
			break
		}
		if err := writeVisible(w, s[:at]); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "<mark>"); err != nil {
			return err
		}
		if err := writeVisible(w, s[at:at+len(query)]); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "</mark>"); err != nil {
			return err
		}
		s = s[at+len(query):]
	}
	return writeVisible(w, s)
}

// Marked is Visible with each hit of a search marked.
func Marked(s, query string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error { return writeMarked(w, s, query) })
}

// Colored is Marked, with the colors of a terminal.
func Colored(s, query string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		return writeAnsi(w, s, func(w io.Writer, s string) error { return writeMarked(w, s, query) })
	})
}

// pre shows an untrusted text to the letter in the letters of code; with the
// class term it has the colors of a terminal.
func pre(label, class, s, query string) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		// The parser drops the newline right after the tag, and only that one.
		_, err := io.WriteString(w, `<pre class="code wrap `+templ.EscapeString(class)+
			`" tabindex="0" role="region" aria-label="`+templ.EscapeString(label)+"\">\n")
		if err != nil {
			return err
		}
		if class == "term" {
			err = Colored(s, query).Render(ctx, w)
		} else {
			err = writeMarked(w, s, query)
		}
		if err == nil {
			_, err = io.WriteString(w, "</pre>")
		}
		return err
	})
}
