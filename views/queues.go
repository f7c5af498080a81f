package views

import (
	"strconv"
	"time"

	"taskyard/task"
	"taskyard/views/ui"
)

// QueuesModel is the board.
type QueuesModel struct {
	Filter  QueueFilter
	Stats   *QueueStats // nil: none
	Columns []QueueColumn
	After   string // last agent of the previous page
	More    int    // agents whose queues are on later pages
	Bar     FilterModel
}

// columnsAtOnce returns for how many columns the style sheet reserves space
// before they are loaded: more than 8 have their minimum width on nearly every
// screen.
func (m QueuesModel) columnsAtOnce() string { return strconv.Itoa(min(len(m.Columns), 8)) }

// QueueStats are the tiles above the board.
type QueueStats struct {
	Done24h   int            // tasks completed in the last 24 hours
	Waiting   int            // active tasks without a worker
	Oldest    time.Duration  // age of the oldest waiting one
	MedianRun time.Duration  // median of the last completed runs; 0: none
	Rows      []task.StatRow // by hour, only hours with activity
	Depths    map[task.Time]task.Depth
	Today     task.Usage
	Budget    task.Budget
}

// QueueColumn is one agent's queue.
type QueueColumn struct {
	Agent   string
	Invalid bool      // its definition is invalid
	Running int       // active runs
	Slots   int       // maximum of parallel runs; 0: Taskyard never starts it
	LastRun task.Time // end of its last run
	Groups  []CardGroup
	Cut     bool // more tasks match the filter than were read
}

// title returns the tab's title: for one queue, its agent.
func (m QueuesModel) title() string {
	if m.Filter.Agent != "" {
		return m.Filter.Agent + " · Queues"
	}
	return "Queues"
}

// CardGroup is a group of cards in a column.
type CardGroup struct {
	Glyph ui.Glyph
	Cards []Card
	More  int // cards that are omitted
}

// Card is one task on the board.
type Card struct {
	Task     *task.Task
	Activity string // what its run is doing, if known
	Reason   string // why it does not run, if a word is enough
}

// groupLabels are the labels of the groups; groupStatus are the filters of "n
// more".
var (
	groupLabels = map[ui.Glyph]string{
		ui.GlyphWork:  "Working",
		ui.GlyphWait:  "Waiting for you",
		ui.GlyphFail:  "Failed",
		ui.GlyphIdle:  "Idle",
		ui.GlyphDraft: "Drafts",
	}
	groupStatus = map[ui.Glyph]string{
		ui.GlyphWork:  "working",
		ui.GlyphWait:  "waiting",
		ui.GlyphFail:  "failed",
		ui.GlyphIdle:  "idle",
		ui.GlyphDraft: "draft",
	}
)

// StatusChoices are the values of the status filters, with labels.
var StatusChoices = [][2]string{
	{"working", "Working"}, {"waiting", "Waiting for you"}, {"failed", "Failed"}, {"idle", "Idle"}, {"draft", "Draft"},
}

// size returns how many tasks with a glyph the column has, displayed or not.
func (col QueueColumn) size(g ui.Glyph) int {
	for _, gr := range col.Groups {
		if gr.Glyph == g {
			return len(gr.Cards) + gr.More
		}
	}
	return 0
}

// Total returns how many tasks the column has, displayed or not.
func (col QueueColumn) Total() int {
	n := 0
	for _, gr := range col.Groups {
		n += len(gr.Cards) + gr.More
	}
	return n
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

func (col QueueColumn) key(c Chrome, f QueueFilter) columnKey {
	k := columnKey{
		filter: f, agent: col.Agent, invalid: col.Invalid, running: col.Running, slots: col.Slots, lastRun: col.LastRun,
		allPaused: c.Pauses.Own("") != nil, canWrite: c.CanWrite, path: c.Path, zone: c.Zone.String(),
	}
	if p := c.Pauses.Own(col.Agent); p != nil {
		k.paused = p.By + " " + p.Brief()
	}
	return k
}

// line returns the small text below the column's name; showLast reports whether
// the time of the last run follows it.
func (col QueueColumn) line() (text string, showLast bool) {
	s := "Claims its own work"
	if col.Invalid && col.Slots == 0 {
		s = "Can't run until its definition is fixed"
	}
	if col.Slots > 0 {
		s = strconv.Itoa(col.Running) + " of " + ui.Count(col.Slots, "slot", "slots")
	}
	if idle := col.size(ui.GlyphIdle); idle > 0 {
		return s + ", " + strconv.Itoa(idle) + " idle", false
	}
	return s, col.LastRun != 0
}

// rest returns the filter of "n more" in a column.
func (f QueueFilter) rest(agent string, g ui.Glyph) QueueFilter {
	f.Agent, f.Status, f.After = agent, groupStatus[g], ""
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
