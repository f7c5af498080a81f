package views

import (
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// cancelNote describes what else ends with a run.
func cancelNote(m *RunModel) string {
	open := 0
	for i := range m.Children {
		if !m.Children[i].Status.Final() {
			open++
		}
	}
	s := "Its program is stopped. The task does not change."
	if open > 0 {
		s += " " + ui.Count(open, "run that it delegated is", "runs that it delegated are") + " canceled too."
	}
	return s
}

// specFromRun returns the plan of a run; for a run that has not started and
// needed no approval, it is incomplete.
func specFromRun(r *task.Run) task.Spec {
	if r.Spec != nil {
		return *r.Spec
	}
	return task.Spec{Agent: r.Agent, DefinitionHash: r.DefinitionHash, Model: r.Model, Depth: r.Depth, Limits: r.Limits}
}

// attemptChanges lists the differences between a run and the previous attempt.
func attemptChanges(m *RunModel) []specChange {
	last, now := specFromRun(m.Attempts.Last), specFromRun(&m.Run)
	if m.Run.Spec == nil || m.Attempts.Last.Spec == nil { // compare only what both have
		for _, s := range []*task.Spec{&last, &now} {
			s.Prompt, s.SystemPrompt, s.Tools, s.Runner, s.Env, s.Network = "", "", nil, "", nil, false
			s.Workspace, s.SharedRun, s.ReadOnly, s.Continues = "", 0, false, 0
		}
	}
	now.Limits, last.Limits = m.Run.Limits, m.Attempts.Last.Limits
	list := specChanges(last, now)
	if m.Attempts.LastText != "" && m.Attempts.Text != "" {
		if lines := compareLines(m.Attempts.LastText, m.Attempts.Text); lines != nil {
			list = append(list, specChange{Name: "Definition file", Lines: lines})
		}
	}
	return list
}

func changeNames(list []specChange) string {
	var names []string
	for _, c := range list {
		names = append(names, strings.ToLower(c.Name))
	}
	return strings.Join(names, ", ")
}

// retryChanges compares the definition of an unsuccessful run with the current
// one; nil if there is nothing to report.
func retryChanges(m *RunModel) []diffLine {
	if !m.Run.Status.Final() || m.Run.Status == task.RunCompleted || m.RetriedBy != 0 || m.Agent == nil || m.Attempts.Text == "" {
		return nil
	}
	return compareLines(m.Attempts.Text, m.Agent.Text)
}

func changedLines(list []diffLine) int {
	n := 0
	for _, l := range list {
		if l.Kind == '+' || l.Kind == '-' {
			n++
		}
	}
	return n
}
