package views

import (
	"strconv"

	"taskyard/task"
	"taskyard/views/ui"
)

// QueuesModel is the board.
type QueuesModel struct {
	Filter  QueueFilter
	Stats   *task.BoardDay // nil: none
	Columns []task.BoardColumn
	After   string // last agent of the previous page
	More    int    // agents whose queues are on later pages
	Bar     FilterModel
}

// columnsAtOnce returns for how many columns the style sheet reserves space
// before they are loaded: more than 8 have their minimum width on nearly every
// screen.
func (m QueuesModel) columnsAtOnce() string { return strconv.Itoa(min(len(m.Columns), 8)) }

// title returns the tab's title: for one queue, its agent.
func (m QueuesModel) title() string {
	if m.Filter.Agent != "" {
		return m.Filter.Agent + " · Queues"
	}
	return "Queues"
}

// groupLabels are the headings of the groups of a column.
var groupLabels = map[task.DisplayState]string{
	task.ShownWorking: "Working",
	task.ShownWaiting: "Waiting for you",
	task.ShownFailed:  "Failed",
	task.ShownIdle:    "Idle",
	task.ShownDraft:   "Drafts",
}

// StatusChoices are the values of the status filters, with labels.
var StatusChoices = [][2]string{
	{"working", "Working"}, {"waiting", "Waiting for you"}, {"failed", "Failed"}, {"idle", "Idle"}, {"draft", "Draft"},
}

// columnKey determines what a column shows besides the cards, which change with
// the instance.
type columnKey struct {
	filter              QueueFilter
	agent               string
	invalid             bool
	running, slots      int
	lastRun             task.Time
	paused              string
	allPaused, canWrite bool
	path, zone          string
}

func newColumnKey(c Chrome, f QueueFilter, col task.BoardColumn) columnKey {
	k := columnKey{
		filter: f, agent: col.Agent, invalid: col.Invalid, running: col.Running, slots: col.Slots, lastRun: col.LastRun,
		allPaused: c.Pauses.Own("") != nil, canWrite: c.CanWrite, path: c.Path, zone: c.Zone.String(),
	}
	if p := c.Pauses.Own(col.Agent); p != nil {
		k.paused = p.By + " " + p.Brief()
	}
	return k
}

// columnText returns the small text below a column's name; showLast reports
// whether the time of the last run follows it.
func columnText(col task.BoardColumn) (text string, showLast bool) {
	s := "Claims its own work"
	if col.Invalid && col.Slots == 0 {
		s = "Can't run until its definition is fixed"
	}
	if col.Slots > 0 {
		s = strconv.Itoa(col.Running) + " of " + ui.Count(col.Slots, "slot", "slots")
	}
	if idle := col.Count(task.ShownIdle); idle > 0 {
		return s + ", " + strconv.Itoa(idle) + " idle", false
	}
	return s, col.LastRun != 0
}

// rest returns the filter of "n more" in a column.
func (f QueueFilter) rest(agent string, s task.DisplayState) QueueFilter {
	f.Agent, f.Status, f.After = agent, string(s), ""
	return f
}

// boardTopics are the topics of the board.
const boardTopics = "queues views"

// waitLabel describes what a task waits for, in a word or two.
func waitLabel(t *task.Task) string {
	switch t.WaitingFor {
	case task.WaitsUser:
		return "Question"
	case task.WaitsApproval:
		if t.OpenRunPhase == task.PhasePermission {
			return "Allow a call"
		}
		return "Approve run"
	case task.WaitsTasks:
		return blockedLabel(t)
	}
	return taskWaits(t)
}

// age returns since when the task has its state: the start of its claim, or its
// creation.
func age(t *task.Task) task.Time {
	switch {
	case t.ArchivedAt != 0:
		return t.ArchivedAt
	case t.Claim != nil:
		return t.Claim.Since
	}
	return t.CreatedAt
}

func stepsText(t *task.Task) string {
	done, total := t.DoneSteps()
	return strconv.Itoa(done) + "/" + strconv.Itoa(total)
}

func stepsDone(t *task.Task) int  { done, _ := t.DoneSteps(); return done }
func stepsTotal(t *task.Task) int { _, total := t.DoneSteps(); return total }
