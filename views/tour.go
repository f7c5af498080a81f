package views

import "taskyard/task"

// Titles of tasks of the demo that its tour names.
const (
	TourHandover = "Write the backup guide"
	TourQuestion = "Review the retry policy"
	TourDraft    = "Plan the next milestone"
)

// tourStep is one thing to try in the demo.
type tourStep struct {
	Do   string
	Why  string
	Href string
	Now  int // how many such things wait for the person now
}

// tour is what to try in the demo; n is what waits in the inbox.
func tour(n *task.InboxTotals) []tourStep {
	return []tourStep{
		{
			"Approve a run", "The planner hands a step of the release notes to the builder, who may not start before you say so.",
			URL.Approvals(), *n.Of(task.WaitApproval),
		},
		{
			"Answer a question", "The reviewer of “" + TourQuestion + "” asks how many attempts are right, and finishes when you answer.",
			URL.InboxOf(InboxQuery{Only: task.WaitQuestion}), *n.Of(task.WaitQuestion),
		},
		{"See a hand-over", "The builder gives “" + TourHandover + "” to the reviewer, with a comment.", URL.Search(TourHandover), 0},
		{"Start a draft", "“" + TourDraft + "” waits until somebody starts it.", URL.Search(TourDraft), 0},
	}
}

// Tour is where a form puts the tour away.
func (urls) Tour() string { return "/tour" }
