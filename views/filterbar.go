package views

import "taskyard/task"

// FilterState is what a filter bar shows as chosen.
type FilterState struct {
	Query, Agent, Status string
	Label                string // taken from a task, not chosen here
	View                 string // carried along, not chosen here
}

// without returns the address of the same list with one choice taken back.
func (f FilterState) without(action, what string) string {
	switch what {
	case "q":
		f.Query = ""
	case "agent":
		f.Agent = ""
	case "status":
		f.Status = ""
	case "label":
		f.Label = ""
	}
	return query(action, "view", f.View, "agent", f.Agent, "status", f.Status, "q", f.Query, "label", f.Label)
}

func labelOf(choices [][2]string, value string) string {
	for _, ch := range choices {
		if ch[0] == value {
			return ch[1]
		}
	}
	return value
}

// TasksModel is the list of open tasks.
type TasksModel struct {
	Filter   TaskListFilter
	Tasks    []*task.Task
	AgentIDs []string // choices of the filter
	Next     string   // cursor of the next page, or ""
}

func (f TaskListFilter) narrowed() bool { return f.Agent != "" || f.Status != "" || f.Query != "" || f.Label != "" }

func (f TaskListFilter) from(cursor string) TaskListFilter {
	f.After = cursor
	return f
}

func oldestText(s QueueStats) string {
	if s.Waiting == 0 || s.Oldest == 0 {
		return ""
	}
	return "oldest " + Dur(s.Oldest)
}

func medianText(s QueueStats) string {
	if s.MedianRun == 0 {
		return "–"
	}
	return Dur(s.MedianRun)
}

func failedText(s QueueStats) string {
	if s.Failed == 0 {
		return ""
	}
	return Count(s.Failed, "failed", "failed")
}
