package views

import (
	"strconv"
	"unicode/utf8"

	"taskyard/task"
	"taskyard/views/ui"
)

// InboxModel is the home page: what waits for a person, and what is running.
type InboxModel struct {
	Inbox   task.Inbox
	Query   InboxQuery
	Next    task.ID // for a list of one kind: start of the next page, 0 at the end
	Snoozed []task.Snooze
	Running []*task.Run // the first of the runs that Numbers counts
	Recent  []*task.Task
	Numbers InboxNumbers
	Guide   *Guide // suggestions, or nil
}

// InboxQuery narrows the inbox to one kind, and pages it.
type InboxQuery struct {
	Only  task.InboxKind // "" for all
	After task.ID
}

// How many entries per kind the inbox shows, and a page of one kind: pages stay
// small although each entry may contain a long text.
const (
	InboxFirst = 10
	InboxRows  = 20
)

// Inbox is the home page.
func (urls) Inbox() string { return "/" }

// InboxList is the list of one kind of items.
func (urls) InboxList(q InboxQuery) string {
	return query("/", "only", string(q.Only), "after", idText(q.After))
}

// NoticeAct is the target of forms for a notice: acknowledge, restore.
func (urls) NoticeAct(message task.ID, act string) string {
	return "/inbox/notices/" + message.String() + "/" + act
}

// Snooze is the target of forms that snooze an item.
func (urls) Snooze() string { return "/inbox/snooze" }

// Wake is the target of forms that unsnooze an item.
func (urls) Wake() string { return "/inbox/wake" }

// inboxTitles are the headings of the sections, in page order.
var inboxTitles = map[task.InboxKind]string{
	task.WaitQuestion: "Questions", task.WaitPermission: "Permissions", task.WaitApproval: "Approvals",
	task.WaitReview: "Results to review",
	task.WaitStuck:  "Failed, needs attention", task.WaitLost: "Blocked by a canceled task", task.WaitNotice: "Notices",
}

// snoozeNouns are the singular nouns of the kinds.
var snoozeNouns = map[task.InboxKind]string{
	task.WaitQuestion: "Question", task.WaitPermission: "Permission", task.WaitApproval: "Approval", task.WaitReview: "Result",
	task.WaitStuck: "Failure", task.WaitLost: "Blocked", task.WaitNotice: "Notice",
}

// SnoozeChoices are the times in the snooze menu, with labels.
var SnoozeChoices = [][2]string{{"hour", "For an hour"}, {"tomorrow", "Until tomorrow, 9:00"}, {"week", "Until next Monday, 9:00"}}

// shows reports whether the page shows a kind.
func (m *InboxModel) shows(k task.InboxKind) bool { return m.Query.Only == "" || m.Query.Only == k }

// also returns the parts that change with the inbox.
func (m *InboxModel) also() []string {
	if m.Query.Only != "" {
		return nil
	}
	if m.Guide != nil {
		return []string{"tiles", "tour"}
	}
	return []string{"tiles"}
}

// waiting returns the number of waiting items of the kinds shown.
func (m *InboxModel) waiting() int {
	if m.Query.Only != "" {
		return *m.Inbox.Totals.ByKind(m.Query.Only)
	}
	return m.Inbox.Totals.All()
}

// maxInboxText bounds how much of a question or notice the inbox shows, in
// bytes; the task's page has all of it.
const maxInboxText = 1200

// inboxText returns the displayed part of a text and whether it is complete.
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

// emptyText explains an empty inbox, with what to do next, and where.
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

// snoozeHref returns the page of a snoozed item.
func snoozeHref(z *task.Snooze) string {
	if z.Kind == task.WaitApproval || z.Kind == task.WaitPermission {
		return URL.Approval(z.Ref)
	}
	if z.Kind == task.WaitReview {
		return URL.Review(z.TaskID, ReviewQuery{})
	}
	return URL.Task(z.TaskID)
}

// retryText returns the label of the button that retries the displayed stuck
// tasks.
func retryText(shown, all int) string {
	if shown < all {
		return "Retry these " + strconv.Itoa(shown)
	}
	return "Retry all " + strconv.Itoa(shown)
}

// taskIDs lists the tasks of entries for a form of the bulk page.
func taskIDs(list []task.InboxItem) string {
	ids := make([]task.ID, len(list))
	for i := range list {
		ids[i] = list[i].TaskID
	}
	return task.JoinIDs(ids, " ")
}

// rowID returns the HTML ID of an entry.
func rowID(k task.InboxKind, ref task.ID) string { return string(k) + "-" + ref.String() }

// zoned formats a time in the person's time zone: "Tue 09:00".
func (m *InboxModel) zoned(t task.Time) string {
	return t.Std().In(m.Numbers.zone()).Format("Mon 15:04")
}

// Thousands formats a number with separators: "8,192".
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
