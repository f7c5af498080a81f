package views

import "taskyard/task"

// InboxModel is the first page: what waits for a person.
type InboxModel struct {
	Inbox    task.Inbox
	InFlight int // runs that run now
}

// Inbox is the first page.
func (urls) Inbox() string { return "/" }

// NoticeAct is where a form posts an act on a notice: acknowledge.
func (urls) NoticeAct(message task.ID, act string) string {
	return "/inbox/notices/" + message.String() + "/" + act
}

// maxInboxText is how many characters of a question or notice the inbox
// shows; the task's page has all of it.
const maxInboxText = 1500

// inboxText returns what is shown of a text and whether that is all of it.
func inboxText(s string) (string, bool) {
	if r := []rune(s); len(r) > maxInboxText {
		return string(r[:maxInboxText]) + "…", false
	}
	return s, true
}

// emptyWords tell why the inbox is empty, what to do next, and where.
func (m *InboxModel) emptyWords(c Chrome) (why, next, href string) {
	switch {
	case len(c.Agents) == 0:
		return "There is no agent yet that could ask you something. An agent is a markdown file in the agents folder.", "Go to Agents", URL.Agents()
	case c.Nav.Open == 0 && c.CanWrite:
		return "No task is open, so nobody works and nobody asks.", "Create a task", URL.NewTask("")
	case c.Nav.Open == 0:
		return "No task is open, so nobody works and nobody asks.", "Look at the history", URL.History(HistoryQuery{})
	}
	why = Count(c.Nav.Open, "task is open", "tasks are open") + ", " + Count(m.InFlight, "run is running", "runs are running") +
		". Questions, approvals, failures and notices come here as soon as there are any."
	return why, "Look at the queues", URL.Queues(QueueFilter{})
}
