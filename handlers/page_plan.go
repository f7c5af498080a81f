package handlers

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
	"taskyard/views/ui"
)

// postPlan handles a change of a plan's order: "move 3 2 MARK", "delete 3
// MARK", "restore EVENT". Indexes are 0-based; the mark is that of the step's
// title as the person saw it.
func (s *Server) postPlan(c echo.Context, id task.ID) error {
	at, message, err := s.plan(c, id, strings.Fields(c.FormValue("act")))
	if err != nil {
		return s.taskAgain(c, id, s.withPlanChange(c, id, err), views.TaskEntries{})
	}
	return s.done(c, views.URL.TaskView(id, views.TaskView{Step: at + 1})+stepAnchor(max(at, 0)), "%s", message)
}

var errPlanAct = task.FieldErrorf("act", "must be move, delete or restore, with its numbers")

// plan applies a change, and returns the step whose panel stays open, or -1.
func (s *Server) plan(c echo.Context, id task.ID, act []string) (at int, message string, err error) {
	ctx, a := formContext(c), actorFrom(c)
	verb, nums, seen, err := planAct(act)
	if err != nil {
		return -1, "", err
	}
	n := nums[0]
	switch verb {
	case "move":
		_, err = s.svc.MoveStep(ctx, a, id, n, nums[1], seen)
		return nums[1], fmt.Sprintf("Step %d is now step %d", n+1, nums[1]+1), err
	case "delete":
		_, err = s.svc.RemoveStep(ctx, a, id, n, seen)
		return -1, fmt.Sprintf("Deleted step %d", n+1), err
	}
	_, err = s.svc.RestoreStep(ctx, a, id, task.ID(n))
	return -1, "Put the step back", err
}

// planAct parses a change.
func planAct(act []string) (verb string, nums [2]int, seen task.StepSeen, err error) {
	counts := map[string]int{"move": 2, "delete": 1, "restore": 1}
	if len(act) == 0 || counts[act[0]] == 0 || len(act) < 1+counts[act[0]] || len(act) > 2+counts[act[0]] {
		return "", nums, seen, errPlanAct
	}
	verb = act[0]
	for i := range counts[verb] {
		if nums[i], err = strconv.Atoi(act[1+i]); err != nil || nums[i] < 0 {
			return "", nums, seen, errPlanAct
		}
	}
	if len(act) == 2+counts[verb] {
		seen.Title = act[len(act)-1]
	}
	return verb, nums, seen, nil
}

// withPlanChange adds to a conflict who changed the plan.
func (s *Server) withPlanChange(c echo.Context, id task.ID, err error) error {
	e, ok := knownError(err)
	if !ok || e.Code != task.CodeStaleVersion {
		return err
	}
	p, pageErr := s.svc.TaskPage(c.Request().Context(), actorFrom(c), id, s.userZone(c))
	if pageErr != nil {
		return err
	}
	conflict := *e
	conflict.Message = strings.TrimSpace(views.PlanChangedBy(p.Events) + " " + e.Message + ".")
	return &conflict
}

// addStep adds a step at the end of the plan, or where the form says.
func (s *Server) addStep(c echo.Context, id task.ID) (string, error) {
	at := task.MaxSteps
	if v := c.FormValue("at"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			return "", task.FieldErrorf("title", "the place of the step must be a whole number")
		}
		at = n
	}
	t, err := s.svc.InsertStep(formContext(c), actorFrom(c), id, at, task.Step{Title: c.FormValue("title")})
	if err == nil {
		c.Set("anchor", stepAnchor(min(at, len(t.Steps)-1)))
	}
	return "Added a step", err
}

func stepEntries(c echo.Context) views.TaskEntries {
	return views.TaskEntries{Step: c.FormValue("title"), Errors: ui.FieldErrors{"step": "title"}}
}
