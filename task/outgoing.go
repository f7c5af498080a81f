package task

// OutKind is a kind of notification to external services.
type OutKind string

// The kinds that a [notify] section may name.
const (
	OutQuestion OutKind = "question" // an agent asks
	OutApproval OutKind = "approval" // a run waits for a decision, before it starts or before a tool call
	OutFailure  OutKind = "failure"  // a task failed and nothing tries it again
	OutBlocked  OutKind = "blocked"  // a task waits for one that was canceled
	OutNotice   OutKind = "notice"   // an agent's message to people
)

// Outgoing is one line for an external service.
type Outgoing struct {
	ID     ID
	Kind   OutKind
	TaskID ID
	RunID  ID     // of an approval
	Text   string // one line, without the link
	At     Time
	Tries  int // that failed
}

// Path is where the decision is made.
func (o *Outgoing) Path() string {
	if o.Kind == OutApproval && o.RunID != 0 {
		return "/approvals/" + o.RunID.String()
	}
	return "/tasks/" + o.TaskID.String()
}
