package views

import "taskyard/task"

// SearchModel is what a person looks for and what was found.
type SearchModel struct {
	Query  string
	Places []Command
	Agents []task.Agent
	Tasks  []*task.Task // open ones, and the one of that number first
	Old    []*task.Task // of the history

	Indexing int // per cent of the history that the search finds, while that is not all

	Hits map[task.ID]task.Hit // where the words appear in the tasks; nil for the palette, which has no room for it
}

// hit is where the search matched a task.
func (m SearchModel) hit(t *task.Task) task.Hit {
	if h, ok := m.Hits[t.ID]; ok {
		return h
	}
	return task.Hit{Title: []task.Span{{Text: t.Title}}}
}

func (m SearchModel) none() bool {
	return m.Query != "" && len(m.Places)+len(m.Agents)+len(m.Tasks)+len(m.Old) == 0
}

// Search is the page that finds pages, agents and tasks by words or number.
func (urls) Search(q string) string { return query("/search", "q", q) }
