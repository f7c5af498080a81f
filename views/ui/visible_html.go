package ui

import (
	"context"
	"io"

	"github.com/a-h/templ"
)

// Visible shows an untrusted text to the letter. MarkHidden marks what hides
// in it, as in everything else of a page. It is written here and not in templ,
// which may add white space.
func Visible(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		return WriteVisible(w, s)
	})
}

// WriteVisible writes what Visible shows.
func WriteVisible(w io.Writer, s string) error {
	_, err := io.WriteString(w, templ.EscapeString(s))
	return err
}

// Pre shows an untrusted text whole, to the letter, in the letters of code.
// class is a further class, or ""; term shows the colors of a terminal.
func Pre(label, class, s string) templ.Component { return PreMarked(label, class, s, "") }

// PreMarked is Pre with each match of a search marked.
func PreMarked(label, class, s, query string) templ.Component {
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

// Code is one line of a shown file, to the letter.
func Code(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "<code>"+templ.EscapeString(s)+"</code>")
		return err
	})
}
