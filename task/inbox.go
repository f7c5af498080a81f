package task

// MaxInbox is how many entries of each kind an Inbox holds.
const MaxInbox = 50

// Inbox is what waits for a person. Each list holds at most MaxInbox entries;
// Totals counts them all.
type Inbox struct {
	Questions       []InboxItem `json:"questions" doc:"open questions, the oldest first"`
	Approvals       []*Run      `json:"approvals" doc:"runs that wait for a reviewer, the first to expire first"`
	Permissions     []*Run      `json:"permissions" doc:"runs that ask before a tool call, the first to expire first"`
	Stuck           []InboxItem `json:"stuck" doc:"active tasks that nothing tries again by itself: runs failed in a row, or one was denied"`
	BlockerCanceled []InboxItem `json:"blockerCanceled" doc:"tasks that wait for a task that was canceled"`
	Notices         []InboxItem `json:"notices" doc:"notices that nobody has acknowledged, the newest first"`
	Totals          InboxTotals `json:"totals"`
}

// InboxItem is a task that waits for a person, and for what.
type InboxItem struct {
	TaskID    ID     `json:"taskId"`
	Title     string `json:"title"`
	Owner     string `json:"owner"`
	MessageID ID     `json:"messageId,omitzero" doc:"the question or the notice"`
	RunID     ID     `json:"runId,omitzero" doc:"the run that failed last"`
	Author    string `json:"author,omitempty" doc:"who asks or tells"`
	Text      string `json:"text,omitempty" doc:"question, notice, or why the last run ended"`
	At        Time   `json:"at" doc:"when it was asked, told, or changed last"`
}

// InboxTotals counts what waits for a person.
type InboxTotals struct {
	Questions       int `json:"questions"`
	Approvals       int `json:"approvals"`
	Permissions     int `json:"permissions"`
	Stuck           int `json:"stuck"`
	BlockerCanceled int `json:"blockerCanceled"`
	Notices         int `json:"notices"`
}

// All is the number that the navigation shows.
func (t InboxTotals) All() int {
	return t.Questions + t.Approvals + t.Permissions + t.Stuck + t.BlockerCanceled + t.Notices
}
