package views

import (
	"slices"
	"strconv"

	"taskyard/task"
	"taskyard/views/ui"
)

// FilterModel is the filter of a list of open tasks, with its choices.
type FilterModel struct {
	List   bool // on /tasks, not on /queues
	Filter QueueFilter
	Agents []string
	Sum    string // "17 open, 4 agents"
}

// at returns the URL of the same page with another filter.
func (m FilterModel) at(f QueueFilter) string {
	if m.List {
		return URL.Tasks(f)
	}
	return URL.Queues(f)
}

// activeFilter is one active criterion, in words, and the filter without it.
type activeFilter struct {
	text    string
	without QueueFilter
}

// activeFilters lists the active criteria. Removing one returns to the first page.
func (f QueueFilter) activeFilters() []activeFilter {
	var list []activeFilter
	add := func(set bool, text string, drop func(*QueueFilter)) {
		if set {
			g := f
			g.After = ""
			drop(&g)
			list = append(list, activeFilter{text, g})
		}
	}
	add(f.Query != "", "“"+f.Query+"”", func(g *QueueFilter) { g.Query = "" })
	add(f.Agent != "", f.Agent, func(g *QueueFilter) { g.Agent = "" })
	add(f.Status != "", choiceLabel(StatusChoices, f.Status), func(g *QueueFilter) { g.Status = "" })
	add(f.Priority != "", "Priority at least "+f.Priority, func(g *QueueFilter) { g.Priority = "" })
	add(f.Label != "", "Label "+f.Label, func(g *QueueFilter) { g.Label = "" })
	add(f.Project != "", "Project "+f.Project, func(g *QueueFilter) { g.Project = "" })
	add(f.CreatedBy != "", "By "+ui.ActorLabel(f.CreatedBy), func(g *QueueFilter) { g.CreatedBy = "" })
	add(f.Blocked != "", choiceLabel(blockedChoices, f.Blocked), func(g *QueueFilter) { g.Blocked = "" })
	return list
}

// Narrowed reports whether the filter excludes tasks.
func (f QueueFilter) Narrowed() bool { return len(f.activeFilters()) > 0 }

// From returns the filter with a cursor.
func (f QueueFilter) From(cursor string) QueueFilter {
	f.After = cursor
	return f
}

// sorted returns the filter with the list sorted by a column: in the default
// direction, or reversed if it is already sorted that way.
func (f QueueFilter) sorted(column string) QueueFilter {
	first := column
	if slices.Contains([]string{"priority", "changed"}, column) {
		first = "-" + column
	}
	switch {
	case f.Sort != first:
		f.Sort = first
	case first == column:
		f.Sort = "-" + column
	default:
		f.Sort = column
	}
	f.After = ""
	return f
}

// ariaSort returns the order of a column for screen readers.
func (f QueueFilter) ariaSort(column string) string {
	switch f.Sort {
	case column:
		return "ascending"
	case "-" + column:
		return "descending"
	}
	return ""
}

// Choices of the filter, as value and label.
var (
	blockedChoices  = [][2]string{{"yes", "Blocked"}, {"no", "Not blocked"}}
	priorityChoices = []string{"9", "6", "3", "1"}
	sinceChoices    = [][2]string{{"24h", "Last 24 hours"}, {"7d", "Last 7 days"}, {"30d", "Last 30 days"}}
)

// ownerChoices returns the choices of whose tasks to show: one's own and those of
// the agents.
func ownerChoices(c Chrome, m FilterModel) [][2]string {
	list := [][2]string{{task.UserActorName(c.User), "me"}}
	for _, a := range m.Agents {
		list = append(list, [2]string{a, a})
	}
	return list
}

func choiceLabel(choices [][2]string, value string) string {
	for _, ch := range choices {
		if ch[0] == value {
			return ch[1]
		}
	}
	return value
}

// OpenTasks describes how many open tasks match a filter, up to the counting
// limit.
func OpenTasks(n int, narrowed bool) string {
	if narrowed && n > task.MaxCounted {
		return "over " + strconv.Itoa(task.MaxCounted) + " open tasks"
	}
	return ui.Count(n, "open task", "open tasks")
}

// TasksModel is the list of open tasks.
type TasksModel struct {
	Filter TaskListFilter
	Bar    FilterModel
	Tasks  []*task.Task
	Total  int    // matching open tasks, on all pages
	Next   string // cursor of the next page, or ""
}
