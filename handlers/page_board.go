package handlers

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// agentQueuePage is the board of one agent.
func (s *Server) agentQueuePage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	id := c.Param("agent")
	o, err := s.svc.Overview(c.Request().Context(), actorFrom(c))
	if err != nil {
		return nil, err
	}
	if _, owns := o.Loads[id]; !owns && !s.svc.KnowsAgent(id) {
		return nil, task.Errorf(task.NotFound, task.CodeAgentNotFound, "Agent not found: %s", id)
	}
	v := c.QueryParams()
	v.Set("agent", id)
	return s.queuesPage(c, ch)
}

// postMove hands over a task from the owner that the person saw.
func (s *Server) postMove(c echo.Context, t *task.Task) error {
	m := views.MoveModel{Task: t, To: c.FormValue("to"), Comment: text(c, "comment")}
	h := service.HandOver{
		TaskID: t.ID, From: cmp.Or(c.FormValue("from"), t.Owner), To: m.To, Comment: m.Comment, Quiet: c.FormValue("quiet") != "",
	}
	back := c.FormValue("undo") != ""
	_, err := s.svc.HandOver(formContext(c), actorFrom(c), h)
	if err == nil && back {
		return s.done(c, views.URL.Task(t.ID), "#%d is %s’s again", t.ID, m.To)
	}
	if err == nil {
		undoable(c, views.URL.TaskAct(t.ID, "move"), "from", m.To, "to", h.From, "comment",
			"Undid the hand-over to "+m.To+".", "quiet", quietMarker(t))
		return s.done(c, views.URL.Task(t.ID), "Moved #%d to %s", t.ID, m.To)
	}
	e, ok := refusal(err)
	if !ok || back {
		return withBack(c, err, backURL(c, views.URL.Task(t.ID)))
	}
	m.Errors = renamed(ui.FieldErrorsFrom(e), "newAgent", "to")
	return s.again(c, e, views.URL.TaskAct(t.ID, "move"), func(ch views.Chrome, _ *task.Error) (p templ.Component, err error) {
		m.Agents, err = s.agentOptions(c)
		return views.MovePage(ch, m), err
	})
}

// quietMarker returns "1" for a task without activity: returning it starts
// nothing.
func quietMarker(t *task.Task) string {
	if t.Claim != nil || t.OpenRunID != 0 {
		return ""
	}
	return "1"
}

// postPriority changes a priority from the value that the person saw: "5 6".
// The same change from the same page has one effect.
func (s *Server) postPriority(c echo.Context, id task.ID) error {
	home := backURL(c, views.URL.Task(id))
	before, to, err := parsePriorityChange(c.FormValue("change"))
	if err != nil {
		return withBack(c, err, home)
	}
	key := c.FormValue("_key")
	if key != "" { // one form serves all cards of a page
		key += fmt.Sprintf(" %d %d %d", id, before, to)
	}
	ctx := withFormKey(c.Request(), actorFrom(c), key, c.FormValue("change"))
	if _, err := s.svc.Reprioritize(ctx, actorFrom(c), id, before, to); err != nil {
		return withBack(c, err, home)
	}
	if c.FormValue("undo") == "" && before != to {
		undoable(c, views.URL.TaskAct(id, "priority"), "change", fmt.Sprintf("%d %d", to, before))
	}
	return s.done(c, home, "Priority of #%d: %d → %d", id, before, to)
}

func parsePriorityChange(s string) (before, to int, err error) {
	a, b, _ := strings.Cut(s, " ")
	if before, err = strconv.Atoi(a); err == nil {
		to, err = strconv.Atoi(b)
	}
	if err != nil {
		err = task.FieldErrorf("change", "must be two whole numbers: the priority that was seen, and the new one")
	}
	return before, to, err
}
