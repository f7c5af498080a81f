package views

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"taskyard/task"
)

// TaskModel is one task's page.
type TaskModel struct {
	Task     *task.Task
	Family   []FamilyItem           // ancestors, the task, its subtasks: in the order shown
	Subtasks map[task.ID]*task.Task // by id, for the chips of steps
	Activity []ActivityItem         // oldest first
	Older    int                    // entries that are left out before the first
	Question *task.Message          // the open question, or nil
	Runs     []*task.Run            // newest first
	Why      []task.Reason          // why it is or is not running
	Blockers []*task.Task           // must be done first, those done by now too
	Blocks   []*task.Task           // wait for it, or did
	Usage    task.Usage             // of all runs together
	Notice   string                 // what went wrong with the last act: stale, refused
	Prev     task.ID                // neighbours in the owner's queue, or 0
	Next     task.ID
	Place    string // "2 of 6", or ""
	Entries  TaskEntries
}

// TaskEntries are what a person typed into the forms of the task page, shown
// again with what is wrong with it. Errors are by the names of the fields:
// content (comment), reply, step, value, label, taskIds.
type TaskEntries struct {
	Comment, Reply, Step string
	Resource             task.Resource
	BlockedBy            *string // the set of blockers; nil: nothing was typed
	Errors               FieldErrors
}

// FamilyItem is one line of the family tree.
type FamilyItem struct {
	Task  *task.Task
	Depth int // 0 for the oldest ancestor
}

// ActivityItem is one entry of a task's stream: exactly one of its pointers is set.
type ActivityItem struct {
	At      task.Time
	Message *task.Message
	Event   *task.Event
	Run     *task.Run
}

// told are the events whose message or run stands in the stream anyway.
var told = map[string]bool{
	task.EvCommented: true, task.EvNotified: true, task.EvAsked: true, task.EvAnswered: true,
	task.EvRunCreated: true, task.EvRunStarted: true, task.EvRunCompleted: true, task.EvRunFailed: true, task.EvRunCanceled: true,
}

// Stream merges messages, events and runs into one stream, oldest first; of one
// moment the events come first.
// Transcript lines and events that a message or a run tells anyway are left out.
func Stream(messages []*task.Message, events []*task.Event, runs []*task.Run) []ActivityItem {
	var out []ActivityItem
	for _, e := range events {
		if !told[e.Kind] {
			out = append(out, ActivityItem{At: e.At, Event: e})
		}
	}
	for _, m := range messages {
		if m.Kind != task.KindRun {
			out = append(out, ActivityItem{At: m.CreatedAt, Message: m})
		}
	}
	for _, r := range runs {
		out = append(out, ActivityItem{At: r.CreatedAt, Run: r})
	}
	slices.SortStableFunc(out, func(a, b ActivityItem) int { return cmp.Compare(a.At, b.At) })
	return out
}

// taskTopic is the topic of one task.
func taskTopic(id task.ID) string { return "task:" + id.String() }

// taskParts are the parts of the task page that one answer renews.
var taskParts = []string{"task-bar", "feed", "reply", "task-side"}

func (m TaskModel) openRun() *task.Run {
	for _, r := range m.Runs {
		if !r.Status.Final() {
			return r
		}
	}
	return nil
}

// may tells whether the viewer may change this task.
func (m TaskModel) may(c Chrome) bool { return c.CanWrite && !m.Task.Status.Archived() }

func (m TaskModel) active(c Chrome) bool { return c.CanWrite && m.Task.Status == task.Active }

// runnable tells whether the viewer may have it run now: nobody works on it,
// no question is open, nothing blocks it, and its agent can be started.
func (m TaskModel) runnable(c Chrome) bool {
	return m.active(c) && m.openRun() == nil && m.Task.Claim == nil && m.Task.QuestionID == 0 && m.Task.Blocked == 0 && m.startable()
}

// startable tells whether nothing keeps the owner from being started.
func (m TaskModel) startable() bool {
	return !slices.ContainsFunc(m.Why, func(r task.Reason) bool {
		switch r.Code {
		case task.WhyPaused, task.WhyOwnerMissing, task.WhyOwnerInvalid, task.WhyPullOnly:
			return true
		}
		return false
	})
}

// currentStep is the index of the first step that is not done while somebody
// works on the task, else -1.
func (m TaskModel) currentStep() int {
	if m.Task.WorkStatus != task.Working {
		return -1
	}
	return slices.IndexFunc(m.Task.Steps, func(s task.Step) bool { return !s.Done })
}

func stepClass(s task.Step, current bool) string {
	switch {
	case s.Done:
		return "done"
	case current:
		return "cur"
	}
	return ""
}

// flipped is the value of a step's form: the opposite of what stands there.
func flipped(done bool) string { return strconv.FormatBool(!done) }

// messageVerb says what a message is, after its author's name.
func messageVerb(k task.MessageKind) string {
	switch k {
	case task.KindHandoff:
		return "handed it over"
	case task.KindNotice:
		return "tells people"
	case task.KindQuestion:
		return "asks"
	case task.KindAnswer:
		return "answered"
	case task.KindSystem:
		return "notes"
	}
	return "commented"
}

func resourceIcon(r task.Resource) string {
	if r.Type == "file" {
		return "file-text"
	}
	return "link"
}

func resourceName(r task.Resource) string {
	if r.Label != "" {
		return r.Label
	}
	return r.Value
}

// edgeWidth, edgeBox and edgePath draw the edge of a line of the family tree; depth is at least 1.
func edgeWidth(depth int) string { return strconv.Itoa(14 * depth) }

func edgeBox(depth int) string { return "0 0 " + edgeWidth(depth) + " 16" }

func edgePath(depth int) string {
	return "M" + strconv.Itoa(14*depth-7) + " -9V6a2 2 0 0 0 2 2h4"
}

// tickOOB names the parts that the answer to a ticked step renews besides the
// task itself.
func tickOOB() string {
	return "#nav:morph,#" + strings.Join(taskParts, ":morph,#") + ":morph"
}

func stepEditLabel(i int, s task.Step) string {
	if s.TaskID != 0 {
		return "Edit step " + strconv.Itoa(i+1)
	}
	return "Edit or delegate step " + strconv.Itoa(i+1)
}
