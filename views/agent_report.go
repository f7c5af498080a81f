package views

import (
	"strconv"

	"taskyard/task"
	"taskyard/views/ui"
)

// AgentReport is how an agent's runs went in the last 30 days.
type AgentReport struct {
	Runs, Completed, Failed int
	CostUSD                 float64
	Last                    []task.Run // ended, newest first
}

// rate is the share of runs that went well among those that went either way.
func (r *AgentReport) rate() string {
	judged := r.Completed + r.Failed
	if judged == 0 {
		return "–"
	}
	return strconv.Itoa(100*r.Completed/judged) + "%"
}

// rateClass colors a rate that deserves a look.
func (r *AgentReport) rateClass() string {
	if judged := r.Completed + r.Failed; judged >= 5 && 2*r.Completed < judged {
		return "text-bad"
	}
	return ""
}

// openTasksText names the open tasks of an agent, "" for none.
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
