package handlers

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

const (
	runRows         = 50
	transcriptLines = 500       // lines per read for the whole text
	textBytes       = 128 << 10 // approximate bytes of those lines
	streamLines     = 100       // lines of one answer to a script, which requests the rest
)

func (s *Server) runsPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	q := views.RunQuery{
		Status: c.QueryParam("status"), Agent: c.QueryParam("agent"),
		Since: c.QueryParam("since"), From: c.QueryParam("from"), To: c.QueryParam("to"),
	}
	var err error
	if q.Task, err = queryID(c, "task"); err != nil {
		return nil, err
	}
	if q.Before, err = queryID(c, "before"); err != nil {
		return nil, err
	}
	agents, err := s.svc.Agents(actorFrom(c))
	if err != nil {
		return nil, err
	}
	f := task.RunFilter{Status: task.RunStatus(q.Status), Agent: q.Agent, TaskID: q.Task, Before: q.Before, Limit: runRows + 1}
	if f.From, f.To, err = s.timeBounds(c, q.Since, q.From, q.To); err != nil {
		return nil, err
	}
	runs, err := s.svc.Runs(c.Request().Context(), actorFrom(c), f)
	m := views.RunsModel{Query: q, Agents: agentIDs(agents)}
	more := task.BudgetFromContext(c.Request().Context()).Cut()
	if len(runs) > runRows {
		runs, more = runs[:runRows], true
	}
	if more && len(runs) > 0 {
		m.Next = runs[len(runs)-1].ID
	}
	m.Runs = values(runs)
	return views.RunsPage(ch, m), err
}

// queryID parses an ID in the query; absent is 0.
func queryID(c echo.Context, name string) (task.ID, error) {
	raw := c.QueryParam(name)
	if raw == "" || raw == "0" {
		return 0, nil
	}
	id, err := task.ParseID(raw)
	if err != nil {
		return 0, task.FieldErrorf(name, "%s", err)
	}
	return id, nil
}

func (s *Server) runPage(c echo.Context, ch views.Chrome, id task.ID) (templ.Component, error) {
	q, err := transcriptQuery(c)
	if err != nil {
		return nil, err
	}
	ctx, a := c.Request().Context(), actorFrom(c)
	r, err := s.svc.Run(ctx, a, id)
	if err != nil {
		return nil, err
	}
	m := views.RunModel{Run: *r, Query: q, Zone: s.userZone(c)}
	if def, err := s.svc.Agent(a, r.Agent); err == nil {
		m.Agent = &def
	}
	if m.Part, err = s.svc.TranscriptPart(ctx, a, id, q); err != nil {
		return nil, err
	}
	if m.Work, err = s.svc.Work(ctx, a, id, true); err != nil {
		return nil, err
	}
	children, err := s.svc.Children(ctx, a, id)
	if err != nil {
		return nil, err
	}
	m.Children = values(children)
	m.Messages.Closed = s.svc.NoMessages(r)
	if m.Messages.List, err = s.svc.RunMessages(ctx, a, id); err != nil {
		return nil, err
	}
	at, err := s.svc.RunAttempts(ctx, a, r)
	if err != nil {
		return nil, err
	}
	m.Attempts = views.RunAttempts(at)
	siblings, err := s.svc.Runs(ctx, a, task.RunFilter{TaskID: r.TaskID, Limit: runRows})
	for _, o := range siblings {
		if o.RetryOf == id {
			m.RetriedBy = o.ID
		}
	}
	return views.RunPage(ch, m), err
}

// maxSearch bounds a search query in a transcript, in bytes.
const maxSearch = 200

// transcriptQuery parses which part of a transcript a page shows.
func transcriptQuery(c echo.Context) (q task.TranscriptQuery, err error) {
	q = task.TranscriptQuery{Kind: c.QueryParam("type"), Text: strings.TrimSpace(c.QueryParam("q"))}
	if len(q.Text) > maxSearch || !utf8.ValidString(q.Text) {
		return q, task.FieldErrorf("q", "must be at most %d bytes of UTF-8", maxSearch)
	}
	if err := q.Check(); err != nil {
		return q, err
	}
	if q.Text != "" { // a search covers all tabs
		q.Kind = ""
	}
	if q.Before, err = queryID(c, "before"); err == nil {
		q.At, err = queryID(c, "at")
	}
	return q, err
}

// transcript returns the lines of a run after a given one, as list items for
// the page that shows them; without after, all of them as plain text.
func (s *Server) transcript(c echo.Context, id task.ID) error {
	if c.QueryParam("after") == "" {
		return s.wholeTranscript(c, id)
	}
	after, err := queryID(c, "after")
	if err != nil {
		return err
	}
	list, err := s.svc.TranscriptAfter(c.Request().Context(), actorFrom(c), id, c.QueryParam("type"), after, streamLines)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.TranscriptItems(views.TranscriptView{Zone: s.userZone(c)}, list))
}

// runLine shows one complete line of a transcript.
func (s *Server) runLine(c echo.Context, ch views.Chrome, id task.ID) (templ.Component, error) {
	line, err := idParam(c, "line")
	if err != nil {
		return nil, err
	}
	q, err := transcriptQuery(c)
	if err != nil {
		return nil, err
	}
	r, err := s.svc.Run(c.Request().Context(), actorFrom(c), id)
	if err != nil {
		return nil, err
	}
	m, err := s.svc.TranscriptLine(c.Request().Context(), actorFrom(c), id, line)
	if err != nil {
		return nil, err
	}
	model := views.RunLineModel{Run: *r, Line: *m, Query: q.Text}
	model.Fit(listBytes)
	return views.RunLinePage(ch, model), nil
}

// wholeTranscript sends all lines as text while they are read, so that it needs
// the same memory for any number. An error after the first part closes the
// connection.
func (s *Server) wholeTranscript(c echo.Context, id task.ID) error {
	ctx := task.WithBudget(c.Request().Context(), textBytes)
	for after, begun := task.ID(0), false; ; begun = true {
		list, err := s.svc.Transcript(ctx, actorFrom(c), id, after, transcriptLines)
		switch {
		case err != nil && begun:
			s.log.Warn("transcript broke off", "run", id, "error", err)
			panic(http.ErrAbortHandler)
		case err != nil:
			return err
		case !begun:
			c.Response().Header().Set("Content-Type", "text/plain; charset=utf-8")
			c.Response().WriteHeader(http.StatusOK)
		}
		for _, m := range list {
			if err := writeLine(c.Response(), m); err != nil {
				return nil // the reader has disconnected
			}
			after = m.ID
		}
		if len(list) < transcriptLines && !task.BudgetFromContext(ctx).Cut() {
			return nil
		}
	}
}

func writeLine(w io.Writer, m task.Message) error {
	_, err := fmt.Fprintf(w, "[%s] %s %s\n%s\n", m.CreatedAt, m.Role, m.Type, m.Content)
	if err == nil && len(m.Data) > 0 {
		_, err = fmt.Fprintf(w, "%s\n", m.Data)
	}
	if err == nil {
		_, err = io.WriteString(w, "\n")
	}
	return err
}

func (s *Server) cancelRun(c echo.Context, id task.ID) error {
	if _, err := s.svc.CancelRun(formContext(c), actorFrom(c), id, strings.TrimSpace(text(c, "reason"))); err != nil {
		return withBack(c, err, backURL(c, views.URL.Run(id)))
	}
	return s.done(c, views.URL.Run(id), "Run %d was stopped", id)
}

func (s *Server) retryRun(c echo.Context, id task.ID) error {
	r, err := s.svc.RetryRun(formContext(c), actorFrom(c), id)
	if err != nil {
		return withBack(c, err, backURL(c, views.URL.Run(id)))
	}
	return s.done(c, views.URL.Run(r.ID), "Run %d tries it again", r.ID)
}

// sendRunMessage redirects to the message, which tells scripts to discard the
// draft.
func (s *Server) sendRunMessage(c echo.Context, id task.ID) error {
	m, err := s.svc.SendRunMessage(formContext(c), actorFrom(c), id, text(c, "text"))
	if err != nil {
		return withBack(c, err, backURL(c, views.URL.Run(id)))
	}
	return s.done(c, views.URL.Run(id)+"#said-"+m.ID.String(), "Sent")
}

// diff returns the changes of a run as plain text, which every browser shows.
func (s *Server) diff(c echo.Context, id task.ID) error {
	w, err := s.svc.Work(c.Request().Context(), actorFrom(c), id, true)
	if err != nil {
		return err
	}
	text := ""
	if w != nil {
		text = w.Patch()
	}
	return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(text))
}
