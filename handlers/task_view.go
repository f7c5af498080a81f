package handlers

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
)

const (
	maxActivity = 50  // entries of a task's stream per page
	maxLive     = 250 // entries of the live list, which grows while it is watched
)

// family returns the relatives of the task, as far as the page shows them.
func family(p service.TaskPage) views.FamilyTree {
	f := views.FamilyTree{
		Ancestors: p.Ancestors, Self: p.Task, Subtasks: p.Subtasks.Tasks,
		Open: p.Subtasks.Open, Done: p.Subtasks.Done, Canceled: p.Subtasks.Canceled, SiblingCount: max(0, p.Siblings.Total()-1),
	}
	for _, t := range p.Siblings.Tasks {
		if t.ID != p.Task.ID {
			f.Siblings = append(f.Siblings, t)
		}
	}
	return f
}

// loadActivity loads the part of the task's stream that its page shows.
func (s *Server) loadActivity(c echo.Context, m *views.TaskModel) error {
	q := service.StreamQuery{SkipEvents: views.HiddenEvents(), Limit: maxActivity + 1}
	if m.View.Tab == "" {
		show := m.View.Show
		q.Messages, q.Events, q.Runs = show == "" || show == "comments", show == "" || show == "changes", show == "" || show == "runs"
	}
	var err error
	if q.Before, err = streamMark("before", m.View.Before); err != nil {
		return err
	}
	if q.After, err = streamMark("since", m.View.Since); err != nil {
		return err
	}
	keep := maxActivity
	if m.View.Since != "" {
		keep = maxLive
		q.Limit = keep + 1
	}
	got, err := s.svc.Stream(c.Request().Context(), actorFrom(c), m.Task.ID, q)
	if err != nil {
		return err
	}
	m.Counts = views.ActivityCounts{Messages: got.AllMessages, Changes: got.AllEvents, Runs: got.AllRuns}
	list := views.Stream(pointers(got.Messages), pointers(got.Events), got.Runs)
	cut := max(0, len(list)-keep)
	m.Activity = list[cut:]
	older, since := activityMarks(list[:cut], list[cut:], q)
	if cut > 0 || got.Cut || m.View.Since != "" {
		m.Earlier = views.ActivityMark(older)
	}
	if m.View.Tab == "" && m.View.Before == "" {
		m.LivePath = views.URL.TaskView(m.Task.ID, views.TaskView{Show: m.View.Show, Since: views.ActivityMark(since)})
	}
	return nil
}

// activityMarks returns the mark before which further entries exist, and the
// one after the shown ones.
func activityMarks(cut, shown []views.ActivityItem, q service.StreamQuery) (older, since task.StreamMark) {
	first, last := task.StreamMark{Message: math.MaxInt64, Event: math.MaxInt64, Run: math.MaxInt64}, q.After
	for _, a := range shown {
		lowerMark(&first, a)
	}
	for _, a := range cut {
		raiseMark(&last, a)
	}
	one := func(first, before, last task.ID) (task.ID, task.ID) {
		if first == math.MaxInt64 { // nothing of this type is shown
			if before == 0 && last > 0 {
				before = last + 1
			}
			return before, last
		}
		return first, max(last, first-1)
	}
	older.Message, since.Message = one(first.Message, q.Before.Message, last.Message)
	older.Event, since.Event = one(first.Event, q.Before.Event, last.Event)
	older.Run, since.Run = one(first.Run, q.Before.Run, last.Run)
	return older, since
}

func lowerMark(m *task.StreamMark, a views.ActivityItem) {
	switch {
	case a.Message != nil:
		m.Message = min(m.Message, a.Message.ID)
	case a.Event != nil:
		m.Event = min(m.Event, a.Event.ID)
	case a.Run != nil:
		m.Run = min(m.Run, a.Run.ID)
	}
}

func raiseMark(m *task.StreamMark, a views.ActivityItem) {
	switch {
	case a.Message != nil:
		m.Message = max(m.Message, a.Message.ID)
	case a.Event != nil:
		m.Event = max(m.Event, a.Event.ID)
	case a.Run != nil:
		m.Run = max(m.Run, a.Run.ID)
	}
}

// streamMark parses a position in a stream: 12.340.5; "" is none.
func streamMark(field, s string) (m task.StreamMark, err error) {
	if s == "" {
		return m, nil
	}
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return m, task.FieldErrorf(field, "must be three numbers with points between them")
	}
	for i, p := range []*task.ID{&m.Message, &m.Event, &m.Run} {
		n, err := strconv.ParseInt(parts[i], 10, 62)
		if err != nil || n < 0 {
			return m, task.FieldErrorf(field, "must be three numbers with points between them")
		}
		*p = task.ID(n)
	}
	return m, nil
}

func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// place returns the position of a task in its queue: "2 of 6".
func place(n, total int) string { return fmt.Sprintf("%d of %d", n, max(total, n)) }

// changedBy returns who last changed a task, and what.
func changedBy(p service.TaskPage) string {
	if len(p.Events) == 0 {
		return "The task has changed since."
	}
	return views.ChangedBy(&p.Events[len(p.Events)-1])
}
