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
	Subtasks    map[task.ID]*task.Task // by ID, for the chips of steps
	View        TaskView
	Activity    []ActivityItem // oldest first
	Counts      ActivityCounts
	Earlier     string         // mark of the entries before the first one, or ""
	LivePath    string         // URL of the live parts; "": the page's own
	Question    *task.Message  // the open question, or nil
	Runs        []*task.Run    // newest first
	Why         []task.Reason  // why it is or is not running
	Blockers    []*task.Task   // tasks that must be done first, including those already done
	Blocks      []*task.Task   // tasks that wait or waited for it
	Usage       task.Usage     // of all its runs
	FamilyUsage task.Usage     // including all its subtasks
	Notice      string         // error of the last action: stale, rejected
	Unsaved     []UnsavedField // text typed into a form that no longer exists
	Undo        *PlanUndo      // the last change of the plan, while it can be undone
	Prev, Next  task.ID        // neighbours in the owner's queue, or 0
	Place       string         // "2 of 6", or ""
	Agents      []AgentOption  // possible new owners
	Results     []*task.Result // for tasks of a project, newest first
	InForce     []task.InForce
	Policy      task.Accept
	Checks      []task.CheckRun // latest executions, newest first, without logs
	Transcript  *RunModel       // of the newest run, for its tab
	Below       []*task.Task    // a page of all subtasks, for their tab
	BelowNext   task.ID         // start of the next page, or 0
	Key         string          // prefix of the idempotency keys of this page's forms
	Entries     TaskEntries
}

// IsFormGone reports whether the form of the entries is no longer on the page.
func (m TaskModel) IsFormGone(e TaskEntries) bool {
	return m.Task.Status.Archived() || e.Reply != "" && m.Question == nil ||
		e.StepAt > len(m.Task.Steps) || e.ResourceAt > len(m.Task.Resources)
}

// ActivityCounts are the numbers of entries in a task's stream; 1,000 means
// more.
type ActivityCounts struct{ Messages, Changes, Runs int }

// TaskEntries contains what a person typed into the forms of the task page,
// shown again with the errors. Errors are keyed by field name: content
// (comment), reply, step, value, label, taskIds; for an edited field: its name;
// for a step: step-title, step-details.
type TaskEntries struct {
	Comment, Reply, Step string
	Resource             task.Resource
	BlockedBy            *string // the set of blockers; nil: not typed
	Field, Value         string  // the edited field, and its text
	Preview              bool    // show a preview of the description
	StepAt               int     // the edited step, from 1; 0: none
	StepTitle            string
	StepDetails          string
	ResourceAt           int // the edited resource, from 1; 0: none
	Errors               ui.FieldErrors
}

// ActivityItem is one entry of a task's stream: exactly one of its pointers is set.
type ActivityItem struct {
	At      task.Time
	Message *task.Message
	Event   *task.Event
	Run     *task.Run
}

// hiddenEvents are the kinds of events whose message or run is in the stream
// anyway.
var hiddenEvents = map[string]bool{
	task.EvCommented: true, task.EvNotified: true, task.EvAsked: true, task.EvAnswered: true,
	task.EvRunCreated: true, task.EvRunStarted: true, task.EvRunCompleted: true, task.EvRunFailed: true, task.EvRunCanceled: true,
}

// Stream merges messages, events and runs into one stream, oldest first; events
// come first if times are equal. Transcript lines and hiddenEvents are omitted.
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

// taskParts are the parts of the task page that one answer updates.
var taskParts = []string{"task-bar", "task-tabs", "feed", "reply", "task-side"}

// HiddenEvents returns the kinds of events that the stream omits because a
// message or a run shows them, sorted.
func HiddenEvents() []string { return slices.Sorted(maps.Keys(hiddenEvents)) }

// key returns the idempotency key of a form on this page.
func (m TaskModel) key(form string) string {
	if m.Key == "" {
		return ""
	}
	return m.Key + "-" + form
}

// edits reports whether a field's form was sent and is shown again.
func (m TaskModel) edits(field string) bool { return m.Entries.Field == field }

// entry returns the content of a field's form: what was typed, otherwise the
// current text.
func (m TaskModel) entry(field, now string) string {
	if m.edits(field) {
		return m.Entries.Value
	}
	return now
}

// total returns the length of the whole stream as text.
func (n ActivityCounts) total() string {
	return counted(n.Messages + n.Changes + n.Runs)
}

// counted formats a count, "999+" from 1,000.
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

// isEditable reports whether the viewer may change this task.
func (m TaskModel) isEditable(c Chrome) bool { return c.CanWrite && !m.Task.Status.Archived() }

func (m TaskModel) active(c Chrome) bool { return c.CanWrite && m.Task.Status == task.Active }

// runnable reports whether the viewer may start a run now: the task is not
// being worked on, has no open question and no blockers, and its agent can be
// started.
func (m TaskModel) runnable(c Chrome) bool {
	return m.active(c) && m.openRun() == nil && m.Task.Claim == nil && m.Task.QuestionID == 0 && m.Task.Blocked == 0 && m.startable()
}

// startable reports whether nothing prevents the owner from being started.
func (m TaskModel) startable() bool {
	return !slices.ContainsFunc(m.Why, func(r task.Reason) bool {
		switch r.Code {
		case task.WhyPaused, task.WhyOwnerMissing, task.WhyOwnerInvalid, task.WhyPullOnly:
			return true
		}
		return false
	})
}

// currentStep returns the index of the first open step while the task is being
// worked on, otherwise -1.
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

// oppositeValue returns the value of a step's form: the opposite of its state.
func oppositeValue(done bool) string { return strconv.FormatBool(!done) }

// messageVerb describes a message, after its author's name.
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

// tickOOB names the parts that the answer to a ticked step updates in addition
// to the task itself.
func tickOOB() string {
	return "#nav:morph,#" + strings.Join(taskParts, ":morph,#") + ":morph"
}

// stepSeen returns the mark of a step's title as displayed.
func stepSeen(s task.Step) string { return task.Mark(s.Title) }

// ActivityMark formats a position in the stream for a URL.
func ActivityMark(m task.StreamMark) string {
	return m.Message.String() + "." + m.Event.String() + "." + m.Run.String()
}

// livePath returns the Chrome with the URL of the live parts.
func (m TaskModel) livePath(c Chrome) Chrome {
	if m.LivePath != "" {
		c.Path = m.LivePath
	}
	return c
}

// feedID returns the HTML ID of the list of entries; only the newest ones are
// live.
func (m TaskModel) feedID() string {
	if m.View.Before != "" {
		return "feed-" + strings.ReplaceAll(m.View.Before, ".", "-")
	}
	return "feed"
}

func neighborKeyHint(rel string) string {
	if rel == "prev" {
		return " ([)"
	}
	return " (])"
}

// stepEntry returns the contents of a step's form: the typed values and errors,
// otherwise the step itself.
func (m TaskModel) stepEntry(i int, s task.Step) (title, details string, errs ui.FieldErrors) {
	if m.Entries.StepAt == i+1 {
		return m.Entries.StepTitle, m.Entries.StepDetails, m.Entries.Errors
	}
	return s.Title, s.Details, nil
}

// resourceEntry returns the contents of a resource's form: the typed values and
// errors, otherwise the resource itself.
func (m TaskModel) resourceEntry(i int, r task.Resource) (task.Resource, ui.FieldErrors) {
	if m.Entries.ResourceAt == i+1 {
		return m.Entries.Resource, m.Entries.Errors
	}
	return r, nil
}

// streamFilters are the filters of the stream.
var streamFilters = [][2]string{{"", "All"}, {"comments", "Comments"}, {"changes", "Changes"}, {"runs", "Runs"}}

func nothingShown(show string) string {
	switch show {
	case "comments":
		return "No comments yet. A comment wakes the agent."
	case "runs":
		return "No runs yet."
	}
	return "No activity."
}

// costText formats a cost, "–" for none.
func costText(u task.Usage) string {
	if u.CostUSD == 0 {
		return "–"
	}
	return approx(u.Estimated, ui.Money(u.CostUSD))
}

// authorText describes who last changed title and description, if that was not
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
