// Package exchange parses tasks of other programs, and those of an export, into
// one plan for an import. It writes nothing and opens no files by itself. It
// collects all problems with their locations, so that they are reported
// together, before the first write.
package exchange

import (
	"fmt"
	"slices"

	"taskyard/task"
)

// Bounds of one import, which is one transaction.
const (
	MaxBytes = 128 << 20 // of all files together
	MaxTasks = 200_000
	maxLabel = 32 // characters of a label
)

// The supported formats.
const (
	FromTaskyard   = "taskyard"
	FromBeads      = "beads"
	FromTaskMaster = "taskmaster"
	FromBacklog    = "backlog"
)

// Source is one file in memory.
type Source struct {
	Name string // as used in messages
	Data []byte
}

// Plan is the contents of files, in the order of the files.
type Plan struct {
	From     string
	Items    []*Item
	NextID   task.ID // the file's counter, or 0
	Todos    []Todos
	Projects []task.Project // completed and valid, by key
	Report   Report

	byRef map[string]*Item
}

// Foreign reports whether another program wrote the files.
func (p *Plan) Foreign() bool { return p.From != FromTaskyard }

// Todos is the todo list of one agent, front first.
type Todos struct {
	Agent string
	Items []string
}

// Item is one task. Its links use the IDs of the file, until the import assigns
// new ones.
type Item struct {
	Where     string // file and position, for messages
	Ref       string // its ID in the file
	Task      task.Task
	Parent    string   // ID of the parent, or ""
	Subtasks  []string // ID of each step's subtask, or ""
	BlockedBy []string
	Asked     bool // its last question is still open
	Withheld  bool // its runs require a person's consent
	order     int
}

// Count is one line of a report: what, how often, and where first.
type Count struct {
	What, First string
	N           int
}

// Counts are lines in the order of their first use.
type Counts []Count

// maxCounts bounds how many field names of hostile files a report can contain.
const maxCounts = 200

// countKey is one line of one of a report's lists.
type countKey struct {
	list *Counts
	what string
}

// count increments a line in one of the lists, or adds it.
func (r *Report) count(list *Counts, what, where string) {
	if r.lines == nil {
		r.lines = map[countKey]int{}
	}
	at, known := r.lines[countKey{list, what}]
	if !known && len(*list) >= maxCounts {
		what = "other things"
		at, known = r.lines[countKey{list, what}]
	}
	if known {
		(*list)[at].N++
		return
	}
	r.lines[countKey{list, what}] = len(*list)
	*list = append(*list, Count{what, where, 1})
}

// Report says how an import maps each field, what it leaves out, and what
// prevents it.
type Report struct {
	Maps     Counts
	Omitted  Counts
	Notes    Counts
	Problems []task.FieldError // the first task.MaxProblems; Field is the location
	More     int               // further problems

	lines map[countKey]int // positions in the lists above
}

// AddProblem records a problem, which prevents the import.
func (r *Report) AddProblem(where, format string, args ...any) {
	if len(r.Problems) >= task.MaxProblems {
		r.More++
		return
	}
	r.Problems = append(r.Problems, task.FieldError{Field: where, Message: fmt.Sprintf(format, args...)})
}

// Note counts something that a person should know.
func (r *Report) Note(where, format string, args ...any) {
	r.count(&r.Notes, fmt.Sprintf(format, args...), where)
}

func (r *Report) maps(what string)        { r.count(&r.Maps, what, "") }
func (r *Report) omit(where, what string) { r.count(&r.Omitted, what, where) }

// Err returns nil, or one error with all problems.
func (r *Report) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return &task.Error{
		Kind: task.Invalid, Code: task.CodeInvalidField, Fields: r.Problems, More: r.More,
		Message: fmt.Sprintf("nothing was written: problems in what should be imported: %d", len(r.Problems)+r.More),
	}
}

// add appends an item and rejects more than an import may contain.
func (p *Plan) add(item *Item) {
	if len(p.Items) == MaxTasks {
		p.Report.AddProblem(item.Where, "is beyond the %d tasks that one import takes; use backup and restore to move a whole instance", MaxTasks)
	}
	item.order = len(p.Items)
	if len(p.Items) <= MaxTasks {
		p.Items = append(p.Items, item)
	}
}

// Item returns the task with an ID of the file, or nil.
func (p *Plan) Item(ref string) *Item { return p.byRef[ref] }

// ByStatus counts the tasks with a status.
func (p *Plan) ByStatus(s task.Status) (n int) {
	for _, item := range p.Items {
		if item.Task.Status == s {
			n++
		}
	}
	return n
}

// ParentsFirst returns the items with each one after its parent.
func (p *Plan) ParentsFirst() []*Item {
	list := slices.Clone(p.Items)
	slices.SortStableFunc(list, func(a, b *Item) int { return a.Task.Nesting - b.Task.Nesting })
	return list
}
