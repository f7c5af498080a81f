package handlers

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// done answers a successful form: it redirects to the page to, with a message
// for that page. The form's own "back" takes precedence over to.
func (s *Server) done(c echo.Context, to, format string, args ...any) error {
	s.flash(c, format, args...)
	return c.Redirect(http.StatusSeeOther, backURL(c, to))
}

// sentHeader marks a form that a script sends. Instead of a redirect, the
// answer is 204 with the page as Location, so that the script can navigate
// itself.
const sentHeader = "Taskyard-Send"

func isScriptForm(c echo.Context) bool { return c.Request().Header.Get(sentHeader) != "" }

// redirectScripts turns redirects of forms that a script sends into 204; see
// sentHeader.
func redirectScripts(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method == http.MethodPost && isScriptForm(c) {
			r := c.Response()
			r.Before(func() {
				if r.Status == http.StatusSeeOther {
					r.Status = http.StatusNoContent
				}
			})
		}
		return next(c)
	}
}

// backURL returns the page that a form came from, if the form names it.
func backURL(c echo.Context, to string) string {
	if b := c.FormValue("back"); b != "" {
		return localPath(b)
	}
	return to
}

// again shows a form again, with the typed values and the error, if a form can
// show that; it returns other errors. page is the URL from which its live parts
// are fetched.
func (s *Server) again(c echo.Context, err error, page string, fn func(views.Chrome, *task.Error) (templ.Component, error)) error {
	e, ok := refusal(err)
	if !ok {
		return err
	}
	setRetry(c, e.Retry)
	return s.show(c, statuses[e.Kind], page, func(ch views.Chrome) (templ.Component, error) { return fn(ch, e) })
}

// show answers a form with a page instead of a redirect. page is the URL from
// which its live parts are fetched.
func (s *Server) show(c echo.Context, status int, page string, fn func(views.Chrome) (templ.Component, error)) error {
	ch, err := s.chrome(c)
	if err != nil {
		return err
	}
	ch.Path = page
	p, err := fn(ch)
	if err != nil {
		return err
	}
	return s.render(c, status, p)
}

// refusal returns the error if a form can show it beside its fields: the input
// is invalid, something has changed, or it came too early.
func refusal(err error) (*task.Error, bool) {
	e, ok := knownError(err)
	return e, ok && (e.Kind == task.Invalid || e.Kind == task.Conflict || e.Kind == task.TooMany)
}

// withBack returns err; if it is shown as an error page, that page links back to
// back.
func withBack(c echo.Context, err error, back string) error {
	c.Set("back", back)
	return err
}

// renamed renames the service's fields to those of a form; pairs are service
// name, form name.
func renamed(fe ui.FieldErrors, pairs ...string) ui.FieldErrors {
	for i := 0; i+1 < len(pairs); i += 2 {
		if m, ok := fe[pairs[i]]; ok {
			delete(fe, pairs[i])
			fe[pairs[i+1]] = m
		}
	}
	return fe
}

// text returns a multi-line field; browsers send its line endings as CRLF.
func text(c echo.Context, name string) string { return unixLineEndings(c.FormValue(name)) }

// unixLineEndings replaces CRLF by LF.
func unixLineEndings(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// wholeNumber parses a field that contains a whole number; empty means 0.
func wholeNumber(c echo.Context, name string) (int, error) {
	s := strings.TrimSpace(c.FormValue(name))
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, task.FieldErrorf(name, "must be a whole number")
	}
	return n, nil
}

// index parses a 0-based index in the path. It returns CodeNotFound if it is
// invalid.
func index(c echo.Context) (int, error) {
	n, err := strconv.Atoi(c.Param("n"))
	if err != nil || n < 0 {
		return 0, task.Errorf(task.NotFound, task.CodeNotFound, "Not found")
	}
	return n, nil
}

// lines returns the non-blank lines of a field, trimmed.
func lines(s string) []string {
	var list []string
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// stepLines parses a plan with one step per line.
func stepLines(s string) []task.Step {
	titles := lines(s)
	list := make([]task.Step, len(titles)) // allocate once: a form may contain 500,000 lines
	for i, title := range titles {
		list[i].Title = title
	}
	return list
}

// linkLines parses resources, one per line: a URL or an absolute path, then a
// label.
func linkLines(s string) []task.Resource {
	var list []task.Resource
	for _, line := range lines(s) {
		value, label, _ := strings.Cut(line, " ")
		r := task.Resource{Type: "url", Value: value, Label: strings.TrimSpace(label)}
		if strings.HasPrefix(value, "/") {
			r.Type = "file"
		}
		list = append(list, r)
	}
	return list
}

// baseURL returns the URL of this server from the caller's perspective.
func (s *Server) baseURL(c echo.Context) string {
	if s.opt.PublicURL != "" {
		return strings.TrimSuffix(s.opt.PublicURL, "/")
	}
	scheme := "http"
	if c.Request().TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + c.Request().Host
}

// values dereferences a list of pointers, for views that take values.
func values[T any](list []*T) []T {
	out := make([]T, len(list))
	for i, p := range list {
		out[i] = *p
	}
	return out
}
