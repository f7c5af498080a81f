package views

import (
	"context"
	"io"

	"github.com/a-h/templ"

	"taskyard/task"
)

// Spans shows an untrusted text with what a search matched marked in it. It
// is written here and not in templ, which may add white space.
func Spans(list []task.Span) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		for _, s := range list {
			if s.Match {
				if _, err := io.WriteString(w, "<mark>"); err != nil {
					return err
				}
			}
			if err := writeVisible(w, s.Text); err != nil {
				return err
			}
			if s.Match {
				if _, err := io.WriteString(w, "</mark>"); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
