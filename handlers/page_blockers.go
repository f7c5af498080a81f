package handlers

import (
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// setBlockers writes the whole set that a person typed, unless it has changed
// since the page was rendered.
func (s *Server) setBlockers(c echo.Context, id task.ID) (string, error) {
	set, err := parseIDs("taskIds", c.FormValue("taskIds"))
	if err != nil {
		return "", err
	}
	before, err := parseIDs("was", c.FormValue("was"))
	if err != nil {
		return "", err
	}
	now, err := s.svc.Task(c.Request().Context(), actorFrom(c), id)
	if err != nil {
		return "", err
	}
	if !sameIDs(now.BlockedBy, before) && !sameIDs(now.BlockedBy, set) {
		return "", task.Errorf(task.Conflict, task.CodeStaleVersion, "What blocks this task has changed since you looked; look again")
	}
	t, err := s.svc.SetBlockedBy(formContext(c), actorFrom(c), id, set)
	switch {
	case err != nil:
		return "", err
	case len(t.BlockedBy) == 0:
		return "Nothing blocks it now", nil
	}
	return "Edit blockers", nil
}

// sameIDs reports whether two sets of IDs are equal.
func sameIDs(a, b []task.ID) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

func blockerEntries(c echo.Context) views.TaskEntries {
	typed := c.FormValue("taskIds")
	return views.TaskEntries{BlockedBy: &typed, Errors: ui.FieldErrors{}}
}

// words returns the words of a field, separated by spaces, tabs or commas.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
}

// parseIDs parses the IDs in a field: 40 41, or #40, #41.
func parseIDs(field, s string) ([]task.ID, error) {
	list := []task.ID{}
	for _, w := range words(s) {
		id, err := task.ParseID(strings.TrimPrefix(w, "#"))
		if err != nil {
			return nil, task.FieldErrorf(field, "must be numbers of tasks, such as 40 41: %q is none", w)
		}
		list = append(list, id)
	}
	return list, nil
}
