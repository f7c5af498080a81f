package views

import (
	"strconv"
	"unicode/utf8"

	"taskyard/task"
	"taskyard/views/ui"
)

// InboxModel is the first page: what waits for a person, and what is under way.
type InboxModel struct {
	Inbox   task.Inbox
	Query   InboxQuery
	Next    task.ID // of a list of one kind: where the next page begins, 0 at the end
	Snoozed []task.Snooze
	Running []*task.Run // the first of those that Numbers counts
	Recent  []*task.Task
	Numbers InboxNumbers
	Guide   *Guide // what to try, or nil
}

// InboxQuery narrows the inbox to one kind, and pages it.
type InboxQuery struct {
	Only  task.InboxKind // "" for all
	After task.ID
}

// How many entries of a kind the inbox shows, and a page of one kind alone: pages
// stay small although each entry may hold a long text.
const (
	InboxFirst = 10
	InboxRows  = 20
)

// Inbox is the first page.
func (urls) Inbox() string { return "/" }

// InboxList returns the address of the list of one kind of what waits.
func (urls) InboxList(q InboxQuery) string {
	return query("/", "only", string(q.Only), "after", idOrNone(q.After))
}

// NoticeAct is where a form posts an act on a notice: acknowledge, restore.
func (urls) NoticeAct(message task.ID, act string) string {
	return "/inbox/notices/" + message.String() + "/" + act
}

// Snooze and Wake are where forms post to put something off, or show it again.
func (urls) Snooze() string { return "/inbox/snooze" }

// Wake is where a form posts to show again what was snoozed.
func (urls) Wake() string { return "/inbox/wake" }

// inboxTitles head the sections, in the order of the page.
var inboxTitles = map[task.InboxKind]string{
	task.WaitQuestion: "Questions", task.WaitPermission: "Permissions", task.WaitApproval: "Approvals",
	task.WaitReview: "Results to review",
	task.WaitStuck:  "Failed, needs attention", task.WaitLost: "Blocked by a canceled task", task.WaitNotice: "Notices",
}

// snoozeNouns name one thing of each kind.
var snoozeNouns = map[task.InboxKind]string{
	task.WaitQuestion: "Question", task.WaitPermission: "Permission", task.WaitApproval: "Approval", task.WaitReview: "Result",
	task.WaitStuck: "Failure", task.WaitLost: "Blocked", task.WaitNotice: "Notice",
}

// SnoozeChoices are the moments that a menu offers, and their labels.
var SnoozeChoices = [][2]string{{"hour", "For an hour"}, {"tomorrow", "Until tomorrow, 9:00"}, {"week", "Until next Monday, 9:00"}}

// shows reports whether the page shows a kind.
func (m *InboxModel) shows(k task.InboxKind) bool { return m.Query.Only == "" || m.Query.Only == k }

// also returns the parts that change with what waits.
func (m *InboxModel) also() []string {
	if m.Query.Only != "" {
		return nil
	}
	if m.Guide != nil {
		return []string{"tiles", "tour"}
	}
	return []string{"tiles"}
}

// waiting is how many of the kinds that the page shows wait.
func (m *InboxModel) waiting() int {
	if m.Query.Only != "" {
		return *m.Inbox.Totals.ByKind(m.Query.Only)
	}
	return m.Inbox.Totals.All()
}

// maxInboxText is how many bytes of a question or notice the inbox shows; the
// task's page has all of it.
const maxInboxText = 1200

// inboxText returns what is shown of a text and whether that is all of it.
func inboxText(s string) (string, bool) {
	if len(s) <= maxInboxText {
		return s, true
	}
	end := maxInboxText
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…", false
}

// emptyText describes why the inbox is empty, what to do next, and where.
func (m *InboxModel) emptyText(c Chrome) (why, next, href string) {
	switch {
	case m.Query.Only != "":
		return "Nothing of this kind is waiting. Snoozed items return automatically.", "Show the whole inbox", URL.Inbox()
	case len(c.Agents) == 0:
		return "No agents yet. An agent is a Markdown file in the agents folder.", "Go to Agents", URL.Agents()
	case c.Nav.Open == 0 && c.CanWrite:
		return "No open tasks.", "Create a task", URL.NewTask("")
	case c.Nav.Open == 0:
		return "No open tasks.", "View history", URL.History(HistoryQuery{})
	}
	why = ui.Count(c.Nav.Open, "task is open", "tasks are open") + ", " + ui.Count(m.Numbers.Running, "run is running", "runs are running") +
		". Questions, approvals, failures and notices come here as soon as there are any."
	if n := len(m.Snoozed); n > 0 {
		why += " " + ui.Count(n, "snoozed item returns", "snoozed items return") + " automatically."
	}
	return why, "View queues", URL.Queues(QueueFilter{})
}

// snoozeHref is where what was snoozed is found meanwhile.
func snoozeHref(z *task.Snooze) string {
	if z.Kind == task.WaitApproval || z.Kind == task.WaitPermission {
		return URL.Approval(z.Ref)
	}
	if z.Kind == task.WaitReview {
		return URL.Review(z.TaskID, ReviewQuery{})
	}
	return URL.Task(z.TaskID)
}

// retryText returns the label of the button that retries the stuck tasks that
// are shown.
func retryText(shown, all int) string {
	if shown < all {
		return "Retry these " + strconv.Itoa(shown)
	}
	return "Retry all " + strconv.Itoa(shown)
}

// taskIDs lists the tasks of entries, as a form of the bulk page names them.
func taskIDs(list []task.InboxItem) string {
	ids := make([]task.ID, len(list))
	for i := range list {
		ids[i] = list[i].TaskID
	}
	return task.JoinIDs(ids, " ")
}

// rowID is the id of an entry on the page.
func rowID(k task.InboxKind, ref task.ID) string { return string(k) + "-" + ref.String() }

// zoned is a moment as the person's clock shows it: "Tue 09:00".
func (m *InboxModel) zoned(t task.Time) string {
	return t.Std().In(m.Numbers.zone()).Format("Mon 15:04")
}

// Thousands writes a number with separators: "8,192".
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
