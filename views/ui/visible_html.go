package ui

import (
	"context"
	"io"

	"github.com/a-h/templ"
)

// Visible renders an untrusted text unchanged. MarkHidden marks its hidden
// characters, as everywhere in a page. It does not use templ, which may add
// white space.
func Visible(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		return WriteVisible(w, s)
	})
}

// WriteVisible writes the output of Visible.
func WriteVisible(w io.Writer, s string) error {
	_, err := io.WriteString(w, templ.EscapeString(s))
	return err
}

// Pre renders an untrusted text completely and unchanged, in a monospaced font.
// class is an additional class, or ""; term shows terminal colors.
func Pre(label, class, s string) templ.Component { return PreMarked(label, class, s, "") }

// PreMarked is like Pre, with the matches of a search highlighted.
func PreMarked(label, class, s, query string) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		// The HTML parser drops only the newline right after the tag.
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

// Code renders one line of a file unchanged.
func Code(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "<code>"+templ.EscapeString(s)+"</code>")
		return err
	})
}
