package task

// MaxInbox is how many entries of each kind an Inbox holds.
const MaxInbox = 50

// InboxKind is why something waits for a person.
type InboxKind string

// The kinds, in the order in which the inbox shows them.
const (
	WaitQuestion   InboxKind = "question"   // an open question; ref is its message
	WaitPermission InboxKind = "permission" // a run asks before a tool call; ref is the run
	WaitReview     InboxKind = "review"     // a result waits for people; ref is the result
	WaitApproval   InboxKind = "approval"   // a run waits for a reviewer; ref is the run
	WaitStuck      InboxKind = "stuck"      // nothing tries again by itself; ref is the task
	WaitLost       InboxKind = "lost"       // waits for a canceled task; ref is the task
	WaitNotice     InboxKind = "notice"     // told, not acknowledged; ref is its message
)

// InboxKinds lists them.
var InboxKinds = []InboxKind{WaitQuestion, WaitPermission, WaitApproval, WaitReview, WaitStuck, WaitLost, WaitNotice}

// InboxQuery says whose inbox is read, and what of it.
type InboxQuery struct {
	User  ID        // whose snoozes count; 0: nobody's
	Only  InboxKind // "" for all
	After ID        // the ref of the last entry of the page before; only with Only
	Limit int       // entries of each kind
}

// Snooze hides something from one person's inbox until a moment.
type Snooze struct {
	Kind   InboxKind `json:"kind"`
	Ref    ID        `json:"ref" doc:"id of the message (of a question or notice), the run, or the task"`
	Mark   ID        `json:"-"` // distinguishes this cause from the next
	TaskID ID        `json:"taskId"`
	Title  string    `json:"title" doc:"title of the task"`
	Owner  string    `json:"owner"`
	Until  Time      `json:"until"`
}

// Inbox is what waits for a person. Each list holds at most MaxInbox entries;
// Totals counts them all.
type Inbox struct {
	Questions       []InboxItem  `json:"questions" doc:"open questions, oldest first"`
	Approvals       []*Run       `json:"approvals" doc:"runs that are waiting for a reviewer; those that expire soonest first"`
	Permissions     []*Run       `json:"permissions" doc:"runs that ask before a tool call; those that expire soonest first"`
	Reviews         []InboxItem  `json:"reviews" doc:"results that are waiting for people, oldest first"`
	Stuck           []InboxItem  `json:"stuck" doc:"active tasks that are not retried automatically: several runs failed in a row, or one was denied"`
	BlockerCanceled []InboxItem  `json:"blockerCanceled" doc:"tasks that are blocked by a canceled task"`
	Notices         []InboxItem  `json:"notices" doc:"unacknowledged notices, newest first"`
	Alerts          []InboxAlert `json:"alerts,omitempty" doc:"for admins: failed scheduled backups and blocked merges, until they succeed"`
	Totals          InboxTotals  `json:"totals" doc:"without alerts"`
}

// InboxAlert is a background job that failed when it ran last, or a merge that
// waits.
type InboxAlert struct {
	Job  string `json:"job" doc:"backup or merge"`
	Text string `json:"text" doc:"why it failed"`
	At   Time   `json:"at"`
}

// InboxItem is a task that waits for a person, and for what.
type InboxItem struct {
	TaskID    ID     `json:"taskId"`
	Title     string `json:"title"`
	Owner     string `json:"owner"`
	MessageID ID     `json:"messageId,omitzero" doc:"the question or the notice"`
	RunID     ID     `json:"runId,omitzero" doc:"the last run that failed"`
	ResultID  ID     `json:"resultId,omitzero"`
	Number    int    `json:"number,omitzero" doc:"number of the result"`
	Author    string `json:"author,omitempty" doc:"who asks or notifies"`
	Text      string `json:"text,omitempty" doc:"the question, the notice, or why the last run ended"`
	At        Time   `json:"at" doc:"when it was asked, reported, or last changed"`
}

// InboxTotals counts what waits for a person.
type InboxTotals struct {
	Questions       int `json:"questions"`
	Approvals       int `json:"approvals"`
	Permissions     int `json:"permissions"`
	Reviews         int `json:"reviews"`
	Stuck           int `json:"stuck"`
	BlockerCanceled int `json:"blockerCanceled"`
	Notices         int `json:"notices"`
}

// Cut leaves at most limit entries of each kind. If it cut one off, it returns
// the ref of the last entry that is left, else 0.
func (b *Inbox) Cut(limit int) (last ID) {
	items := func(list *[]InboxItem, ref func(InboxItem) ID) {
		if len(*list) > limit {
			*list = (*list)[:limit]
			last = ref((*list)[limit-1])
		}
	}
	runs := func(list *[]*Run) {
		if len(*list) > limit {
			*list = (*list)[:limit]
			last = (*list)[limit-1].ID
		}
	}
	message := func(i InboxItem) ID { return i.MessageID }
	ofTask := func(i InboxItem) ID { return i.TaskID }
	items(&b.Questions, message)
	runs(&b.Permissions)
	runs(&b.Approvals)
	items(&b.Reviews, func(i InboxItem) ID { return i.ResultID })
	items(&b.Stuck, ofTask)
	items(&b.BlockerCanceled, ofTask)
	items(&b.Notices, message)
	return last
}

// ByKind returns the number of a kind, to read or to set; an unknown kind panics.
func (t *InboxTotals) ByKind(k InboxKind) *int {
	switch k {
	case WaitQuestion:
		return &t.Questions
	case WaitApproval:
		return &t.Approvals
	case WaitPermission:
		return &t.Permissions
	case WaitReview:
		return &t.Reviews
	case WaitStuck:
		return &t.Stuck
	case WaitLost:
		return &t.BlockerCanceled
	case WaitNotice:
		return &t.Notices
	}
	panic("task: no kind of the inbox: " + string(k))
}

// Minus returns t without what m counts.
func (t InboxTotals) Minus(m InboxTotals) InboxTotals {
	for _, k := range InboxKinds {
		*t.ByKind(k) -= *m.ByKind(k)
	}
	return t
}

// All is the number that the navigation shows.
func (t InboxTotals) All() int {
	return t.Questions + t.Approvals + t.Permissions + t.Reviews + t.Stuck + t.BlockerCanceled + t.Notices
}

// Milestones is what has happened on an instance for the first time.
type Milestones struct {
	New      bool // it has at most NewTasks tasks so far
	Task     bool // a task was created
	Worked   bool // an agent claimed a task, or a run of one started
	Decided  bool // a person decided whether a run may start, or call a tool
	Answered bool // a person answered an agent
}

// NewTasks is how many tasks a new instance has at most.
const NewTasks = 30
