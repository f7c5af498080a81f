package views

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
		return writeVisible(w, s)
	})
}

func writeVisible(w io.Writer, s string) error {
	_, err := io.WriteString(w, templ.EscapeString(s))
	return err
}

// Pre shows an untrusted text whole, to the letter, in the letters of code.
// class is a further class, or "".
func Pre(label, class, s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		// The parser drops the newline right after the tag, and only that one.
		_, err := io.WriteString(w, `<pre class="code wrap `+templ.EscapeString(class)+
			`" tabindex="0" role="region" aria-label="`+templ.EscapeString(label)+"\">\n")
		if err == nil {
			err = writeVisible(w, s)
		}
		if err == nil {
			_, err = io.WriteString(w, "</pre>")
		}
		return err
	})
}

// codeText is one line of a shown file, to the letter.
func codeText(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		if _, err := io.WriteString(w, "<code>"); err != nil {
			return err
		}
		if err := writeVisible(w, s); err != nil {
			return err
		}
		_, err := io.WriteString(w, "</code>")
		return err
	})
}
