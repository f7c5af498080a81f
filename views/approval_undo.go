package views

import (
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// ApproveMany is the target of the form that approves several runs.
func (urls) ApproveMany() string { return "/approvals/approve" }

// Undo is the target of forms that undo decisions.
func (urls) Undo() string { return "/approvals/undo" }

// decisionWord returns a decision in words.
func decisionWord(decision string) string {
	if decision == "denied" {
		return "rejected"
	}
	return decision
}

// decisionText describes the latest decision.
func decisionText(pending []task.Run) string {
	if len(pending) == 1 {
		return "Run " + pending[0].ID.String() + " " + decisionWord(pending[0].PendingDecision.Decision) + "."
	}
	n := map[string]int{}
	for i := range pending {
		n[decisionWord(pending[i].PendingDecision.Decision)]++
	}
	var parts []string
	for _, w := range []string{"approved", "rejected"} {
		if n[w] > 0 {
			parts = append(parts, ui.Count(n[w], "run", "runs")+" "+w)
		}
	}
	return strings.Join(parts, ", ") + "."
}

// decisionEffect describes what a pending decision will do.
func decisionEffect(h *task.PendingDecision) string {
	if h.Decision == "denied" {
		return "it is canceled"
	}
	return "it is queued"
}

// earlierDecisionText describes the decision before this reviewer's: who, what
// and when.
func earlierDecisionText(d *ApprovalDetail, now task.Time) string {
	r := &d.Run
	if p := d.permission(); p != nil && r.PendingDecision == nil {
		return p.Outcome() + "."
	}
	if h := r.PendingDecision; h != nil {
		return ui.ActorLabel(h.By) + " " + decisionWord(h.Decision) + " this run " + ui.Ago(h.At, now) + "."
	}
	a := r.Approval
	switch {
	case a == nil || a.Decision == "":
		return "This run no longer waits: it " + RunSentence(r) + reasonSuffix(r) + "."
	case a.Decision == "expired":
		return "Nobody decided in time; the approval expired " + ui.Ago(a.At, now) + "."
	}
	s := ui.ActorLabel(a.By) + " " + decisionWord(a.Decision) + " this run " + ui.Ago(a.At, now)
	if a.Reason != "" {
		s += ": " + a.Reason
	}
	if a.Decision == "approved" && r.Phase != task.PhaseQueued {
		s += ". By now it " + RunSentence(r)
	}
	return s + "."
}

// reasonSuffix returns the reason of a run in parentheses, "" for none.
func reasonSuffix(r *task.Run) string {
	if r.Reason == "" {
		return ""
	}
	return " (" + r.Reason + ")"
}
