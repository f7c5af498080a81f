package views

import (
	"cmp"
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// ChecksModel is the page of a task's requirements before it is done.
type ChecksModel struct {
	Task    *task.Task
	InForce []task.InForce
	Policy  task.Accept
	Last    map[string]*task.CheckRun // the newest execution of each check, by name
	Form    ProjectModel              // the task's own requirements, in the fields of a project
}

// DemandsForm returns the form with a task's own requirements.
func DemandsForm(t *task.Task) ProjectForm {
	p := task.Project{Checks: t.Checks, Version: t.Version}
	if t.Policy != nil {
		p.Review = *t.Policy
	}
	return NewProjectForm(&p)
}

// rerunnable reports whether the checks of the task can be run now.
func (m *ChecksModel) rerunnable() bool {
	t := m.Task
	waits := t.OpenRunPhase == task.PhaseApproval || t.OpenRunPhase == task.PhaseQueued
	return !t.Status.Archived() && t.Awaits != task.WaitsMerge && (t.OpenRunID == 0 || waits)
}

// checkLooks summarizes what a check examines.
func checkLooks(c task.Check) string {
	text := strings.TrimPrefix(strings.TrimSuffix(c.Text(), " (required)"), c.Name+": ")
	return oneLine(task.ClipText(text, 200))
}

// policyLines describes every policy, one per line.
func policyLines(a task.Accept) []string {
	var list []string
	for _, r := range a.All() {
		text := reviewText(r)
		if r.StandIn != "" {
			text += "; after " + hoursText(r.ExpiresSeconds) + ", " + r.StandIn + " can decide too"
		}
		list = append(list, text)
	}
	return list
}

func hoursText(seconds int) string {
	return number(float64(seconds)/3600) + " h"
}

// requirementsText summarizes the requirements of a task: "3 checks, 2 votes".
func requirementsText(checks []task.InForce, a task.Accept) string {
	var list []string
	if n := len(checks); n > 0 {
		list = append(list, ui.Count(n, "check", "checks"))
	}
	limit := 0
	for _, r := range a.All() {
		limit = max(limit, r.Approvals)
	}
	if limit > 0 {
		list = append(list, ui.Count(limit, "vote", "votes"))
	}
	return cmp.Or(strings.Join(list, ", "), "None")
}
