package views

import "taskyard/task"

// SearchModel is a search query with its results.
type SearchModel struct {
	Query  string
	Places []Command
	Agents []task.Agent
	Tasks  []*task.Task // open tasks, the one with that number first
	Old    []*task.Task // archived tasks

	Indexing int // per cent of the history that is indexed, while incomplete

	Hits map[task.ID]task.Hit // where the words appear in the tasks; nil for the palette, which has no space for it
}

// hit returns where the search matched a task.
func (m SearchModel) hit(t *task.Task) task.Hit {
	if h, ok := m.Hits[t.ID]; ok {
		return h
	}
	return task.Hit{Title: []task.Span{{Text: t.Title}}}
}

func (m SearchModel) isEmpty() bool {
	return m.Query != "" && len(m.Places)+len(m.Agents)+len(m.Tasks)+len(m.Old) == 0
}

// Search is the page that finds pages, agents and tasks by words or number.
func (urls) Search(q string) string { return query("/search", "q", q) }
