package handlers

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// taskRows is how many rows a page of a list of tasks has.
const taskRows = 100

// queueFilter parses the filter of the board or of a list from the URL.
func queueFilter(c echo.Context) views.QueueFilter { return filterFromQuery(c.QueryParams()) }

func filterFromQuery(v url.Values) views.QueueFilter {
	return views.QueueFilter{
		Agent: v.Get("agent"), Status: v.Get("status"), Query: v.Get("q"),
		Label: v.Get("label"), Project: v.Get("project"), Priority: v.Get("priority"),
		CreatedBy: v.Get("by"), Blocked: v.Get("blocked"), Sort: v.Get("sort"), After: v.Get("after"),
	}
}

// taskFilter converts the filter of a page to that of the service.
func taskFilter(f views.QueueFilter) (task.TaskFilter, error) {
	t := task.TaskFilter{
		Owner: f.Agent, Query: f.Query, Label: f.Label, Project: f.Project, CreatedBy: f.CreatedBy,
		Blocked: f.Blocked, After: f.After,
	}
	switch f.Status {
	case "":
	case string(task.Draft), string(task.Active):
		t.Status = task.Status(f.Status)
	default:
		t.Shown = task.DisplayState(f.Status)
	}
	if f.Priority != "" {
		n, err := strconv.Atoi(f.Priority)
		if err != nil {
			return t, task.FieldErrorf("priority", "must be a whole number")
		}
		t.MinPriority = &n
	}
	column, desc := strings.CutPrefix(f.Sort, "-")
	if t.Sort, t.Desc = task.TaskSort(column), desc; f.Sort == "-priority" {
		t.Sort, t.Desc = "", false // queue order, which has an index
	}
	return t, nil
}

// openTaskPage returns a page of a list of open tasks, the cursor of the next
// page, and how many tasks match in total. A filter that excludes nothing uses
// the count of the navigation; others count up to task.MaxCounted plus one.
func (s *Server) openTaskPage(c echo.Context, ch views.Chrome, f views.QueueFilter) ([]*task.Task, string, int, error) {
	ctx, a := c.Request().Context(), actorFrom(c)
	t, err := taskFilter(f)
	if err != nil {
		return nil, "", 0, err
	}
	t.Limit = taskRows
	p, err := s.svc.Cards(ctx, a, t)
	if err != nil || p.Next == "" && f.After == "" {
		return p.Tasks, "", len(p.Tasks), err
	}
	if !f.Narrowed() {
		return p.Tasks, p.Next, ch.Nav.Open, nil
	}
	t.Limit = 0
	n, _, err := s.svc.Matching(ctx, a, t, 0)
	return p.Tasks, p.Next, n, err
}

// filterFromAddress parses the filter in the URL of a list.
func filterFromAddress(back string) views.QueueFilter {
	u, err := url.Parse(back)
	if err != nil {
		return views.QueueFilter{}
	}
	return filterFromQuery(u.Query())
}
