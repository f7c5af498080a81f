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
	Stats   *QueueStats // nil: no tiles
	Columns []QueueColumn
	After   string // the last agent of the page before
	More    int    // agents whose queues are on later pages
	Bar     FilterModel
}

// columnsAtOnce is for how many columns the style sheet makes room before they
// are all there: more than 8 have their least width on nearly every screen.
func (m QueuesModel) columnsAtOnce() string { return strconv.Itoa(min(len(m.Columns), 8)) }

// QueueStats are the tiles above the board.
type QueueStats struct {
	Done24h   int            // tasks completed in the last 24 hours
	Waiting   int            // active tasks that nobody works on
	Oldest    time.Duration  // age of the oldest of them
	MedianRun time.Duration  // of the last runs that completed; 0 for none
	Rows      []task.StatRow // by hour, those in which something happened
	Depths    map[task.Time]task.Depth
	Today     task.Usage
	Budget    task.Budget
}

// QueueColumn is one agent's queue.
type QueueColumn struct {
	Agent   string
	Invalid bool      // its definition is invalid
	Running int       // runs under way
	Slots   int       // runs that may run at once; 0 where Taskyard never starts it
	LastRun task.Time // end of its last run
	Groups  []CardGroup
	Cut     bool // more tasks fit the filter than were read
}

// title names the tab: of one queue by its agent.
func (m QueuesModel) title() string {
	if m.Filter.Agent != "" {
		return m.Filter.Agent + " · Queues"
	}
	return "Queues"
}

// CardGroup is one heading of a column and its cards.
type CardGroup struct {
	Glyph ui.Glyph
	Cards []Card
	More  int // cards that are left out
}

// Card is one task on the board.
type Card struct {
	Task     *task.Task
	Activity string // what its run does now, where known
	Why      string // why it does not run, where a word is enough
}

// groupLabels name the groups; groupStatus are the filters behind "n more".
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

// StatusChoices are the values that the status filters take, with labels.
var StatusChoices = [][2]string{
	{"working", "Working"}, {"waiting", "Waiting for you"}, {"failed", "Failed"}, {"idle", "Idle"}, {"draft", "Draft"},
}

// size returns how many tasks of a glyph the column has, shown or not.
func (col QueueColumn) size(g ui.Glyph) int {
	for _, gr := range col.Groups {
		if gr.Glyph == g {
			return len(gr.Cards) + gr.More
		}
	}
	return 0
}

// Total is how many tasks the column has, shown or not.
func (col QueueColumn) Total() int {
	n := 0
	for _, gr := range col.Groups {
		n += len(gr.Cards) + gr.More
	}
	return n
}

// columnKey is all that a column shows beside the cards, which change with the
// instance.
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

// line is the small print under the column's name; showLast reports whether the
// time of the last run follows it.
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

// rest is the list behind "n more" of a column.
func (f QueueFilter) rest(agent string, g ui.Glyph) QueueFilter {
	f.Agent, f.Status, f.After = agent, groupStatus[g], ""
	return f
}

// boardTopics are the topics of the board.
const boardTopics = "queues views"

// waitLabel says what a task waits for, in a word or two.
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

// age is since when the task is as it is: its claim's begin, else its creation.
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
