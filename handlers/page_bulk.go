package handlers

import (
	"fmt"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

const (
	bulkShown = 100 // tasks that the confirmation lists
	bulkTold  = 50  // skipped tasks that are reported with reasons
)

// bulkPage asks for confirmation before a bulk action on the selected tasks, or
// on all that match the filter of their list.
func (s *Server) bulkPage(c echo.Context, ch views.Chrome) (templ.Component, error) {
	m := views.BulkModel{Act: c.QueryParam("act"), Back: c.QueryParam("back")}
	ids, err := s.selectedTasks(c, m.Back)
	if err != nil {
		return nil, withBack(c, err, localPath(m.Back))
	}
	m.IDs = ids
	return s.bulkAgain(c, ch, m)
}

// selectedTasks returns the tasks that were selected on a list.
func (s *Server) selectedTasks(c echo.Context, back string) ([]task.ID, error) {
	if c.QueryParam("all") == "" {
		return parseIDs("id", strings.Join(c.QueryParams()["id"], " "))
	}
	f, err := taskFilter(filterFromAddress(back))
	if err != nil {
		return nil, err
	}
	n, ids, err := s.svc.Matching(c.Request().Context(), actorFrom(c), f, task.MaxBulk)
	if err == nil && n > len(ids) {
		err = task.FieldErrorf("all", "matches more than %d tasks, the most for one action: narrow the filter", task.MaxBulk)
	}
	return ids, err
}

// bulkAgain adds what the confirmation shows besides its own fields.
func (s *Server) bulkAgain(c echo.Context, ch views.Chrome, m views.BulkModel) (_ templ.Component, err error) {
	m.Back = localPath(m.Back)
	switch {
	case !views.KnownBulkAct(m.Act):
		return nil, withBack(c, task.FieldErrorf("act", "is not an action for several tasks"), m.Back)
	case len(m.IDs) == 0:
		return nil, withBack(c, task.FieldErrorf("id", "Select at least one task first"), m.Back)
	}
	a := actorFrom(c)
	if m.Tasks, err = s.svc.TasksByID(c.Request().Context(), a, m.IDs[:min(bulkShown, len(m.IDs))]); err != nil {
		return nil, err
	}
	if m.Act == string(service.BulkCancel) {
		m.Below, err = s.svc.CountDescendants(c.Request().Context(), a, m.IDs)
	}
	if m.Act == string(service.BulkMove) && err == nil {
		m.Agents, err = s.agentOptions(c)
	}
	return views.BulkPage(ch, m), err
}

// postBulk does it. Skipped tasks are reported with reasons.
func (s *Server) postBulk(c echo.Context) error {
	m := views.BulkModel{
		Act: c.FormValue("act"), Back: c.FormValue("back"), To: c.FormValue("to"), Text: text(c, "text"),
		Priority: c.FormValue("priority"), Labels: c.FormValue("labels"),
	}
	var prio int
	var err error
	if m.IDs, err = parseIDs("id", c.FormValue("ids")); err == nil {
		prio, err = wholeNumber(c, "priority")
	}
	var out service.BulkDone
	if err == nil {
		out, err = s.svc.Bulk(formContext(c), actorFrom(c), service.Bulk{
			Act: service.BulkAct(m.Act), IDs: m.IDs, To: m.To, Priority: prio, Labels: words(m.Labels), Text: m.Text,
		})
	}
	// Nobody can correct a form with more tasks than one action takes.
	if e, ok := refusal(err); ok && views.KnownBulkAct(m.Act) && len(m.IDs) > 0 && len(m.IDs) <= task.MaxBulk {
		m.Errors = renamed(ui.FieldErrorsFrom(e), "comment", "text", "summary", "text", "reason", "text", "newAgent", "to")
		return s.again(c, e, views.URL.Bulk(), func(ch views.Chrome, _ *task.Error) (templ.Component, error) { return s.bulkAgain(c, ch, m) })
	}
	if err != nil {
		return withBack(c, err, localPath(m.Back))
	}
	addFlashExtra(c, flashExtra{Skipped: skippedLines(out.Skipped)})
	return s.done(c, views.URL.Tasks(views.TaskListFilter{}), "%s", bulkSummary(service.BulkAct(m.Act), m.To, out))
}

var bulkTexts = map[service.BulkAct]string{
	service.BulkMove: "Moved %s to ", service.BulkPriority: "Set the priority of %s",
	service.BulkLabel: "Labeled %s", service.BulkUnlabel: "Removed labels from %s",
	service.BulkStart: "Started %s", service.BulkRun: "Queued runs of %s",
	service.BulkComplete: "Completed %s", service.BulkCancel: "Canceled %s",
}

// bulkSummary summarizes what was done and what was skipped.
func bulkSummary(act service.BulkAct, to string, out service.BulkDone) string {
	message := fmt.Sprintf(bulkTexts[act], ui.Count(len(out.Done), "task", "tasks"))
	if act == service.BulkMove {
		message += to
	}
	if out.Along > 0 {
		message += " and " + ui.Count(out.Along, "subtask", "subtasks")
	}
	if n := len(out.Skipped); n > 0 {
		message += fmt.Sprintf("; %d skipped", n)
	}
	return message
}

func skippedLines(list []service.BulkSkip) []string {
	var lines []string
	for i, sk := range list {
		if i == bulkTold {
			return append(lines, fmt.Sprintf("and %d more", len(list)-i))
		}
		lines = append(lines, fmt.Sprintf("#%d: %s", sk.ID, sk.Reason))
	}
	return lines
}
