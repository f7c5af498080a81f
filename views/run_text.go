package views

import (
	"strings"

	"taskyard/task"
)

// phaseTexts describe a phase after the run's name, where the state alone is
// not a sentence.
var phaseTexts = map[task.Phase]string{
	task.PhaseApproval: "waits for approval", task.PhaseQueued: "is queued",
	task.PhaseStarting: "is starting", task.PhaseWorking: "is working",
	task.PhasePermission: "asks for permission", task.PhaseCondensing: "is writing its summary",
	task.PhaseBy: "was stopped", task.PhaseDenied: "was rejected", task.PhaseExpired: "expired: nobody decided in time",
	task.PhaseTaskClosed: "was stopped: its task closed", task.PhaseShutdown: "was stopped: the server shut down",
}

// RunSentence describes a run's state, after its name: "is working", "failed:
// no progress".
func RunSentence(r *task.Run) string {
	if w := phaseTexts[r.Phase]; w != "" && r.Status != task.RunFailed {
		return w
	}
	return r.State().Text()
}

// eventTexts describe the kinds of events, after the actor's name.
var eventTexts = map[string]string{
	task.EvTaskCreated: "created this task", task.EvTaskUpdated: "changed", task.EvTaskStarted: "started this task",
	task.EvTaskCompleted: "completed this task", task.EvTaskCanceled: "canceled this task", task.EvTaskMoved: "moved it",
	task.EvTaskClaimed: "claimed it", task.EvTaskReleased: "released it", task.EvClaimExpired: "released an expired claim",
	task.EvBlockersSet: "set blockers:", task.EvBlockerDone: "completed a blocker:", task.EvBlockerLost: "canceled a blocker:",
	task.EvStepsReplaced: "rewrote the steps", task.EvStepUpdated: "changed", task.EvSubtaskCreated: "delegated",
	task.EvStepAdded: "added", task.EvStepRemoved: "deleted", task.EvStepMoved: "moved",
	task.EvStepLinked: "linked", task.EvStepUnlinked: "unlinked",
	task.EvResourceAdded: "added a link", task.EvResourceEdited: "changed a link", task.EvResourceGone: "removed a link",
	task.EvTaskStuck:    "marked it as stuck",
	task.EvTaskImported: "imported this task", task.EvTodoImported: "imported a todo list",
	task.EvAcknowledged: "acknowledged a notice", task.EvUnacknowledged: "reopened a notice",
	task.EvSnoozed: "snoozed it for themselves", task.EvWoken: "ended a snooze",
	task.EvInstancePaused: "paused Taskyard", task.EvInstanceResumed: "resumed Taskyard",
	task.EvInstanceStopped: "stopped everything", task.EvAgentPaused: "paused the agent", task.EvAgentResumed: "resumed the agent",
	task.EvWakeSkipped: "skipped a wake", task.EvRunApproved: "approved a run", task.EvRunDenied: "rejected a run",
	task.EvRunHeld: "decided on a run (can be undone)", task.EvRunUndone: "undid a decision",
	task.EvRunExpired: "did not decide: the approval expired", task.EvRunVoided: "voided an approval: what would run has changed",
	task.EvPermitAsked: "asked for permission to call a tool", task.EvPermitAllowed: "allowed a tool call",
	task.EvPermitDenied: "denied a tool call", task.EvPermitExpired: "did not decide: the permission expired",
	task.EvTodoPushed: "added to a todo list", task.EvTodoPopped: "took from a todo list",
	task.EvViewSaved: "saved a view", task.EvViewRenamed: "renamed a view", task.EvViewDeleted: "deleted a view",
	task.EvPreference:  "changed their preferences",
	task.EvSettings:    "changed settings of the server",
	task.EvRunRequeued: "put a run back into the queue", task.EvRunFollowUp: "scheduled a follow-up run",
	task.EvRunFiles:       "changed files",
	task.EvProjectCreated: "created the project", task.EvProjectUpdated: "changed the project",
	task.EvCheckRun:     "reran the check",
	task.EvChecksFailed: "could not complete it: required checks did not pass:", task.EvResultCreated: "submitted",
	task.EvResultAccepted: "accepted", task.EvResultChanges: "requested changes of", task.EvResultVoted: "voted on",
	task.EvResultReminded: "reminded of the review of", task.EvReviewReplied: "answered a review comment",
	task.EvMergeQueued: "queued the merge of", task.EvMergeDone: "merged", task.EvMergeFailed: "could not merge it",
	task.EvRunMessage: "sent a message to a run",
}

// EventSentence describes an event after its actor's name, with a summary of
// the changed fields.
func EventSentence(e *task.Event) string {
	words := eventTexts[e.Kind]
	if words == "" {
		words = strings.NewReplacer(".", " ", "_", " ").Replace(e.Kind)
	}
	if s := changeText(e); s != "" {
		return words + " " + s
	}
	return words
}
