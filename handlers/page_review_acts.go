package handlers

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

func (s *Server) acceptResult(c echo.Context, id task.ID) error {
	return s.decideResult(c, id, "accept", "Accepted result %d of #%d", s.svc.AcceptResult)
}

func (s *Server) requestChanges(c echo.Context, id task.ID) error {
	return s.decideResult(c, id, "request-changes", "Requested changes of result %d of #%d", s.svc.RequestChanges)
}

// decideResult votes on exactly what the person saw.
func (s *Server) decideResult(c echo.Context, id task.ID, form, message string,
	vote func(context.Context, task.Actor, task.ID, int, string, string) (*task.Task, error),
) error {
	number, err := wholeNumber(c, "result")
	if err == nil {
		_, err = vote(formContext(c), actorFrom(c), id, number, c.FormValue("digest"), text(c, "text"))
	}
	if e, ok := refusal(err); ok {
		return s.reviewAgain(c, id, e, func(m *views.ReviewModel) error {
			if e.Kind != task.Conflict {
				m.Form, m.Text, m.Errors = form, text(c, "text"), ui.FieldErrorsFrom(e)
				return nil
			}
			m.Notice, m.Seen = e.Message, number
			if m.Text = text(c, "text"); m.Text != "" {
				m.Form = form
			}
			m.Differs, err = s.resultDifferences(c, m, number)
			return err
		})
	}
	if err != nil {
		return withBack(c, err, views.URL.Review(id, views.ReviewQuery{}))
	}
	return s.done(c, views.URL.Review(id, views.ReviewQuery{}), message, number, id)
}

// reviewAgain shows the newest result again with why an action failed.
func (s *Server) reviewAgain(c echo.Context, id task.ID, e *task.Error, change func(*views.ReviewModel) error) error {
	return s.again(c, e, views.URL.Review(id, views.ReviewQuery{}), func(ch views.Chrome, _ *task.Error) (templ.Component, error) {
		m, err := s.review(c, id, views.ReviewQuery{})
		if err == nil {
			err = change(&m)
		}
		keepUnsaved(c, ch, &m, e)
		return views.ReviewPage(ch, m), err
	})
}

// keepUnsaved shows what was typed if the page no longer has the form.
func keepUnsaved(c echo.Context, ch views.Chrome, m *views.ReviewModel, e *task.Error) {
	if !m.HasForm(ch) {
		m.Notice, m.Unsaved = e.Message, unsavedText(c)
	}
}

// resultDifferences describes how the result shown differs from the one that
// the reader saw.
func (s *Server) resultDifferences(c echo.Context, m *views.ReviewModel, seen int) ([]string, error) {
	if seen == m.Result.Number {
		return nil, nil
	}
	earlier, err := s.svc.Result(c.Request().Context(), actorFrom(c), m.Task.ID, seen)
	if err != nil {
		return nil, err
	}
	list := []string{fmt.Sprintf("You decided on result %d; the newest is result %d.", seen, m.Result.Number)}
	if earlier.Patch != m.Result.Patch {
		list = append(list, "The change is another one.")
	}
	if earlier.Summary != m.Result.Summary {
		list = append(list, "The summary is another one.")
	}
	before := map[string]task.Verdict{}
	for _, ch := range earlier.Checks {
		before[ch.Name] = ch.Verdict
	}
	for _, ch := range m.Result.Checks {
		if v := before[ch.Name]; v != ch.Verdict {
			list = append(list, fmt.Sprintf("Check %s: %s, before: %s.", ch.Name, ch.Verdict, cmp.Or(v, "none")))
		}
	}
	return list, nil
}

// draftComment stores a comment that only its author sees.
func (s *Server) draftComment(c echo.Context, id task.ID) error {
	d := task.ReviewComment{Path: c.FormValue("path"), Side: c.FormValue("side"), Text: text(c, "text")}
	var err error
	if d.Line, err = wholeNumber(c, "line"); err == nil {
		d.EndLine, err = wholeNumber(c, "endLine")
	}
	if d.Line == 0 {
		d.Side = ""
	}
	var made task.ReviewComment
	var number int // of the result that was read
	if err == nil {
		number, err = wholeNumber(c, "result")
	}
	if err == nil {
		d.Excerpt = s.excerpt(c, id, number, d)
		made, err = s.svc.DraftComment(formContext(c), actorFrom(c), id, number, d)
	}
	if e, ok := refusal(err); ok {
		return s.draftAgain(c, id, e, d)
	}
	if err != nil {
		return withBack(c, err, views.URL.Review(id, views.ReviewQuery{}))
	}
	return toComment(c, id, made.ID)
}

// excerpt returns the commented lines in the result with this number.
func (s *Server) excerpt(c echo.Context, id task.ID, number int, d task.ReviewComment) string {
	if d.Path == "" || d.Line == 0 {
		return ""
	}
	got, err := s.svc.ResultDiff(c.Request().Context(), actorFrom(c), id, number, 0, d.Path, reviewContext)
	if err != nil {
		return "" // the comment is shown without them
	}
	return task.ClipText(task.HunkExcerpt(got.Diff, d.Side, d.Line, max(d.Line, d.EndLine)), task.MaxText)
}

// draftAgain shows the form of a comment with its errors.
func (s *Server) draftAgain(c echo.Context, id task.ID, e *task.Error, d task.ReviewComment) error {
	fill := func(m *views.ReviewModel) error {
		m.Form, m.Draft, m.Errors = "comment", d, ui.FieldErrorsFrom(e)
		return nil
	}
	if d.Path == "" {
		return s.reviewAgain(c, id, e, fill)
	}
	q := views.ReviewQuery{Path: d.Path, Side: d.Side, Line: d.Line, Form: d.Line == 0}
	return s.again(c, e, views.URL.ReviewFile(id, q), func(ch views.Chrome, _ *task.Error) (templ.Component, error) {
		m, err := s.reviewFile(c, id, q)
		if err == nil {
			err = fill(&m)
		}
		keepUnsaved(c, ch, &m, e)
		return views.ReviewFilePage(ch, m), err
	})
}

// toComment redirects to the page of a form, at a comment; 0 is none. The form
// is closed there.
func toComment(c echo.Context, id, comment task.ID) error {
	to := backURL(c, views.URL.Review(id, views.ReviewQuery{}))
	if u, err := url.Parse(to); err == nil {
		v := u.Query()
		for _, name := range []string{"side", "line", "form"} {
			v.Del(name)
		}
		u.RawQuery, u.Fragment = v.Encode(), ""
		to = u.String()
	}
	if comment != 0 {
		to += "#c-" + comment.String()
	}
	return c.Redirect(http.StatusSeeOther, to)
}

func (s *Server) editDraft(c echo.Context, id task.ID) error {
	comment, err := idParam(c, "comment")
	if err != nil {
		return err
	}
	message := text(c, "text")
	if c.FormValue("act") == "delete" {
		message = ""
	}
	if err := s.svc.EditDraft(formContext(c), actorFrom(c), id, comment, message); err != nil {
		return withBack(c, err, backURL(c, views.URL.Review(id, views.ReviewQuery{})))
	}
	if strings.TrimSpace(message) == "" {
		comment = 0
	}
	return toComment(c, id, comment)
}

func (s *Server) replyToComment(c echo.Context, id task.ID) error {
	comment, err := idParam(c, "comment")
	if err != nil {
		return err
	}
	state := task.CommentState(c.FormValue("state"))
	if _, err := s.svc.ReplyReview(formContext(c), actorFrom(c), id, comment, state, text(c, "text")); err != nil {
		return withBack(c, err, backURL(c, views.URL.Review(id, views.ReviewQuery{})))
	}
	return toComment(c, id, comment)
}

func (s *Server) submitComments(c echo.Context, id task.ID) error {
	n, err := s.svc.SubmitComments(formContext(c), actorFrom(c), id)
	if err != nil {
		return withBack(c, err, backURL(c, views.URL.Review(id, views.ReviewQuery{})))
	}
	return s.done(c, views.URL.Review(id, views.ReviewQuery{}), "Sent %s", ui.Count(n, "comment", "comments"))
}

// setViewed records that a file was viewed in its state in the result shown.
func (s *Server) setViewed(c echo.Context, id task.ID) error {
	number, err := wholeNumber(c, "result")
	if err != nil {
		return err
	}
	file, mark := c.FormValue("path"), ""
	if on, _ := strconv.ParseBool(c.FormValue("viewed")); on {
		got, err := s.svc.ResultDiff(c.Request().Context(), actorFrom(c), id, number, 0, file, reviewContext)
		if err != nil {
			return withBack(c, err, views.URL.Review(id, views.ReviewQuery{}))
		}
		mark = viewedMark(got, number)
	}
	if err := s.svc.SetViewed(formContext(c), actorFrom(c), id, file, mark); err != nil {
		return withBack(c, err, views.URL.Review(id, views.ReviewQuery{}))
	}
	return toComment(c, id, 0)
}

// setDiffView stores how the caller prefers to see diffs.
func (s *Server) setDiffView(c echo.Context, id task.ID) error {
	if err := s.svc.SetPreference(formContext(c), actorFrom(c), task.PrefDiff, c.FormValue("view")); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, backURL(c, views.URL.Review(id, views.ReviewQuery{})))
}
