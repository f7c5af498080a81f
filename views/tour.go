package views

import "taskyard/task"

// Titles of demo tasks that the tour mentions.
const (
	TourHandover = "Write the backup guide"
	TourQuestion = "Review the retry policy"
	TourDraft    = "Plan the next milestone"
	TourReview   = "Put the opening hours on the site"
)

// Guide contains the suggestions in the inbox: the tour of the demo, or the
// first steps on a new instance.
type Guide struct {
	Demo       bool
	Milestones task.Milestones
}

// guideStep is one suggestion.
type guideStep struct {
	Do   string
	Why  string
	Href string
	Now  int  // how many such items are waiting for the person
	Done bool // already done
}

// steps returns the suggestions; n are the totals of the inbox.
func (g *Guide) steps(n *task.InboxTotals) []guideStep {
	f := g.Milestones
	if !g.Demo {
		return []guideStep{
			{
				"Connect an agent", "Choose an agent: its page says how a model, Claude Code, Codex or your own program works for it.",
				URL.Agents(), 0, f.Worked,
			},
			{"Create a task", "Its owner claims it, or Taskyard starts a run of the agent.", URL.NewTask(""), 0, f.Task},
			{
				"Decide an approval", "A run of a task that an agent created waits until a person approves it.",
				URL.Approvals(), *n.ByKind(task.WaitApproval), f.Decided,
			},
		}
	}
	return []guideStep{
		{
			"Approve a run", "The planner hands a step of the release notes to the builder, who may not start before you say so.",
			URL.Approvals(), *n.ByKind(task.WaitApproval), f.Decided,
		},
		{
			"Answer a question", "The reviewer of “" + TourQuestion + "” asks how many attempts are right, and finishes when you answer.",
			URL.InboxList(InboxQuery{Only: task.WaitQuestion}), *n.ByKind(task.WaitQuestion), f.Answered,
		},
		{
			"Review a change", "The builder of “" + TourReview + "” forgot a day, the check said so, and it was fixed. Comment on a line " +
				"and request changes, or accept: then it is merged into main.",
			URL.InboxList(InboxQuery{Only: task.WaitReview}), *n.ByKind(task.WaitReview), false,
		},
		{"See a hand-over", "The builder gives “" + TourHandover + "” to the reviewer, with a comment.", URL.Search(TourHandover), 0, false},
		{"Start a draft", "“" + TourDraft + "” waits until somebody starts it.", URL.Search(TourDraft), 0, false},
	}
}

func (g *Guide) title() string {
	if g.Demo {
		return "Welcome to the demo"
	}
	return "First steps"
}

// Tour is the target of the form that dismisses the guide.
func (urls) Tour() string { return "/tour" }
