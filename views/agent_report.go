package views

import (
	"strconv"

	"taskyard/task"
	"taskyard/views/ui"
)

// AgentReport summarizes an agent's runs of the last 30 days.
type AgentReport struct {
	Runs, Completed, Failed int
	CostUSD                 float64
	Last                    []task.Run // ended, newest first
}

// rate returns the share of completed runs among completed and failed ones.
func (r *AgentReport) rate() string {
	judged := r.Completed + r.Failed
	if judged == 0 {
		return "–"
	}
	return strconv.Itoa(100*r.Completed/judged) + "%"
}

// rateClass returns the color class of a rate that needs attention.
func (r *AgentReport) rateClass() string {
	if judged := r.Completed + r.Failed; judged >= 5 && 2*r.Completed < judged {
		return "text-bad"
	}
	return ""
}

// openTasksText describes the open tasks of an agent, "" for none.
func (m *AgentModel) openTasksText() string {
	active := m.Queued + m.Working
	switch {
	case active > 0 && m.Drafts > 0:
		return ui.Count(active, "active task", "active tasks") + " and " + ui.Count(m.Drafts, "draft", "drafts")
	case active > 0:
		return ui.Count(active, "active task", "active tasks")
	case m.Drafts > 0:
		return ui.Count(m.Drafts, "draft", "drafts")
	}
	return ""
}
