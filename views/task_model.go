package views

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// TaskModel is one task's page.
type TaskModel struct {
	Task        *task.Task
	Family      FamilyTree
	Subtasks    map[task.ID]*task.Task // by id, for the chips of steps
	View        TaskView
	Activity    []ActivityItem // oldest first
	Counts      ActivityCounts
	Earlier     string         // mark of the entries before the first one, or ""
	LivePath    string         // where the live parts are found; "" is the page's own address
	Question    *task.Message  // the open question, or nil
	Runs        []*task.Run    // newest first
	Why         []task.Reason  // why it is or is not running
	Blockers    []*task.Task   // must be done first, those done by now too
	Blocks      []*task.Task   // wait for it, or did
	Usage       task.Usage     // of all its runs together
	FamilyUsage task.Usage     // with those of everything below it
	Notice      string         // what went wrong with the last act: stale, refused
	Unsaved     []UnsavedField // what was typed into a form that is not there any more
	Undo        *PlanUndo      // the last change of the plan, while it can be undone
	Prev, Next  task.ID        // neighbours in the owner's queue, or 0
	Place       string         // "2 of 6", or ""
	Agents      []AgentOption  // whom it may be handed to
	Results     []*task.Result // of a task of a project, the newest first
	InForce     []task.InForce
	Policy      task.Accept
	Checks      []task.CheckRun // their last executions, the newest first, without logs
	Transcript  *RunModel       // of the newest run, for its tab
	Below       []*task.Task    // a page of all subtasks, for their tab
	BelowNext   task.ID         // where the next page begins, or 0
	Key         string          // begins the idempotency keys of this page's forms
	Entries     TaskEntries
}

// Lacks reports whether the form of the entries is not on the page any more.
func (m TaskModel) Lacks(e TaskEntries) bool {
	return m.Task.Status.Archived() || e.Reply != "" && m.Question == nil ||
		e.StepAt > len(m.Task.Steps) || e.ResourceAt > len(m.Task.Resources)
}

// ActivityCounts are the lengths of a task's stream; 1,000 stands for more.
type ActivityCounts struct{ Messages, Changes, Runs int }

// TaskEntries are what a person typed into the forms of the task page, shown
// again with what is wrong with it. Errors are by the names of the fields:
// content (comment), reply, step, value, label, taskIds; of a field that is
// edited: its name; of a step: step-title, step-details.
type TaskEntries struct {
	Comment, Reply, Step string
	Resource             task.Resource
	BlockedBy            *string // the set of blockers; nil: nothing was typed
	Field, Value         string  // a field that is edited, and its text
	Preview              bool    // the description is to be seen as it will be
	StepAt               int     // the step that is edited, from 1; 0: none
	StepTitle            string
	StepDetails          string
	ResourceAt           int // the resource that is edited, from 1; 0: none
	Errors               ui.FieldErrors
}

// ActivityItem is one entry of a task's stream: exactly one of its pointers is set.
type ActivityItem struct {
	At      task.Time
	Message *task.Message
	Event   *task.Event
	Run     *task.Run
}

// hiddenEvents are the kinds of events whose message or run is in the stream anyway.
var hiddenEvents = map[string]bool{
	task.EvCommented: true, task.EvNotified: true, task.EvAsked: true, task.EvAnswered: true,
	task.EvRunCreated: true, task.EvRunStarted: true, task.EvRunCompleted: true, task.EvRunFailed: true, task.EvRunCanceled: true,
}

// Stream merges messages, events and runs into one stream, oldest first; of one
// moment the events come first. Transcript lines and hiddenEvents are left out.
func Stream(messages []*task.Message, events []*task.Event, runs []*task.Run) []ActivityItem {
	var out []ActivityItem
	for _, e := range events {
		if !hiddenEvents[e.Kind] {
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
var taskParts = []string{"task-bar", "task-tabs", "feed", "reply", "task-side"}

// HiddenEvents returns the kinds of events that the stream leaves out, since a
// message or a run shows them, sorted.
func HiddenEvents() []string { return slices.Sorted(maps.Keys(hiddenEvents)) }

// key is the idempotency key of one form of this page.
func (m TaskModel) key(form string) string {
	if m.Key == "" {
		return ""
	}
	return m.Key + "-" + form
}

// edits reports whether a field's form was sent and is to be seen again.
func (m TaskModel) edits(field string) bool { return m.Entries.Field == field }

// entry is what is in a field's form: what was typed, else the present text.
func (m TaskModel) entry(field, now string) string {
	if m.edits(field) {
		return m.Entries.Value
	}
	return now
}

// total is the length of the whole stream, as people read it.
func (n ActivityCounts) total() string {
	return counted(n.Messages + n.Changes + n.Runs)
}

// counted writes a count, "999+" from 1,000.
func counted(n int) string {
	if n >= 1000 {
		return "999+"
	}
	return strconv.Itoa(n)
}

func (m TaskModel) openRun() *task.Run {
	for _, r := range m.Runs {
		if !r.Status.Final() {
			return r
		}
	}
	return nil
}

// may reports whether the viewer may change this task.
func (m TaskModel) may(c Chrome) bool { return c.CanWrite && !m.Task.Status.Archived() }

func (m TaskModel) active(c Chrome) bool { return c.CanWrite && m.Task.Status == task.Active }

// runnable reports whether the viewer may have it run now: nobody works on it,
// no question is open, nothing blocks it, and its agent can be started.
func (m TaskModel) runnable(c Chrome) bool {
	return m.active(c) && m.openRun() == nil && m.Task.Claim == nil && m.Task.QuestionID == 0 && m.Task.Blocked == 0 && m.startable()
}

// startable reports whether nothing keeps the owner from being started.
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
		return "current"
	}
	return ""
}

// flipped is the value of a step's form: the opposite of what is there.
func flipped(done bool) string { return strconv.FormatBool(!done) }

// messageVerb says what a message is, after its author's name.
func messageVerb(k task.MessageKind) string {
	switch k {
	case task.KindHandoff:
		return "handed it over"
	case task.KindNotice:
		return "sent a message"
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

func resourceName(r task.Resource) string { return cmp.Or(r.Label, r.Value) }

// tickOOB names the parts that the answer to a ticked step renews besides the
// task itself.
func tickOOB() string {
	return "#nav:morph,#" + strings.Join(taskParts, ":morph,#") + ":morph"
}

// stepSeen is the mark of a step's title, as the page shows it.
func stepSeen(s task.Step) string { return task.Mark(s.Title) }

// ActivityMark writes a place in the stream as an address holds it.
func ActivityMark(m task.StreamMark) string {
	return m.Message.String() + "." + m.Event.String() + "." + m.Run.String()
}

// livePath is the address at which the live parts renew themselves.
func (m TaskModel) livePath(c Chrome) Chrome {
	if m.LivePath != "" {
		c.Path = m.LivePath
	}
	return c
}

// feedID is the id of the list of entries; only the newest ones are live.
func (m TaskModel) feedID() string {
	if m.View.Before != "" {
		return "feed-" + strings.ReplaceAll(m.View.Before, ".", "-")
	}
	return "feed"
}

func besideKey(rel string) string {
	if rel == "prev" {
		return " ([)"
	}
	return " (])"
}

// stepEntry is what is in the form of a step: what was typed and what is
// wrong with it, else the step as it is.
func (m TaskModel) stepEntry(i int, s task.Step) (title, details string, bad ui.FieldErrors) {
	if m.Entries.StepAt == i+1 {
		return m.Entries.StepTitle, m.Entries.StepDetails, m.Entries.Errors
	}
	return s.Title, s.Details, nil
}

// resourceEntry is what is in the form of a resource: what was typed and
// what is wrong with it, else the resource as it is.
func (m TaskModel) resourceEntry(i int, r task.Resource) (task.Resource, ui.FieldErrors) {
	if m.Entries.ResourceAt == i+1 {
		return m.Entries.Resource, m.Entries.Errors
	}
	return r, nil
}

// shows are the filters of the stream.
var shows = [][2]string{{"", "All"}, {"comments", "Comments"}, {"changes", "Changes"}, {"runs", "Runs"}}

func nothingShown(show string) string {
	switch show {
	case "comments":
		return "No comments yet. A comment wakes the agent."
	case "runs":
		return "No runs yet."
	}
	return "No activity."
}

// costText writes what something cost, "–" for nothing.
func costText(u task.Usage) string {
	if u.CostUSD == 0 {
		return "–"
	}
	return approx(u.Estimated, ui.Money(u.CostUSD))
}

// authorText describes who wrote title and description last, where that was not
// the creator of the task.
func authorText(title, description string) string {
	label := func(actor string) string {
		if actor == task.Importer {
			return "an import"
		}
		return ui.ActorLabel(actor)
	}
	switch {
	case title == "" && description == "":
		return ""
	case title == description:
		return "Title and description by " + label(title)
	case title == "":
		return "Description by " + label(description)
	case description == "":
		return "Title by " + label(title)
	}
	return "Title by " + label(title) + ", description by " + label(description)
}
