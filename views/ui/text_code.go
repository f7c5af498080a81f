package ui

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// WithCode renders a text whose parts between backticks are code.
func WithCode(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		for {
			before, rest, found := strings.Cut(text, "`")
			code, after, closed := strings.Cut(rest, "`")
			if !found || !closed {
				break
			}
			if _, err := io.WriteString(w, templ.EscapeString(before)+"<code>"+templ.EscapeString(code)+"</code>"); err != nil {
				return err
			}
			text = after
		}
		_, err := io.WriteString(w, templ.EscapeString(text))
		return err
	})
}
