package task

import (
	"encoding/json"
	"strings"
)

// Event is one line of the append-only log.
type Event struct {
	ID      ID              `json:"id"`
	At      Time            `json:"at"`
	Actor   string          `json:"actor"`
	Kind    string          `json:"kind" doc:"noun.verb, for example task.created or run.approved"`
	TaskID  ID              `json:"taskId,omitzero"`
	RunID   ID              `json:"runId,omitzero"`
	Agent   string          `json:"agent,omitempty"`
	Changes json.RawMessage `json:"changes,omitempty" doc:"field: [before, after], or field: value"`

	TokenID   ID     `json:"tokenId,omitzero" doc:"the bearer token that was used"`
	RequestID string `json:"requestId,omitempty" doc:"the request that caused it, as in X-Request-Id"`
	Address   string `json:"address,omitempty" doc:"network address of the caller; only for admins"`
}

// The kinds of events.
const (
	EvTaskCreated     = "task.created"
	EvTaskUpdated     = "task.updated"
	EvTaskStarted     = "task.started"
	EvTaskCompleted   = "task.completed"
	EvTaskCanceled    = "task.canceled"
	EvTaskMoved       = "task.moved"
	EvTaskClaimed     = "task.claimed"
	EvTaskReleased    = "task.released"
	EvClaimExpired    = "task.claim_expired"
	EvBlockersSet     = "task.blockers_set"
	EvBlockerDone     = "task.blocker_done"
	EvBlockerLost     = "task.blocker_canceled"
	EvStepsReplaced   = "task.steps_replaced"
	EvStepUpdated     = "task.step_updated"
	EvStepAdded       = "task.step_added"
	EvStepRemoved     = "task.step_removed"
	EvStepMoved       = "task.step_moved"
	EvStepLinked      = "task.step_linked"
	EvStepUnlinked    = "task.step_unlinked"
	EvSubtaskCreated  = "task.subtask_created"
	EvResourceAdded   = "task.resource_added"
	EvResourceEdited  = "task.resource_changed"
	EvResourceGone    = "task.resource_removed"
	EvCommented       = "task.commented"
	EvNotified        = "task.notified"
	EvAsked           = "task.asked"
	EvAnswered        = "task.answered"
	EvAcknowledged    = "task.acknowledged"
	EvUnacknowledged  = "task.unacknowledged"
	EvSnoozed         = "task.snoozed"
	EvWoken           = "task.unsnoozed"
	EvTaskStuck       = "task.stuck"
	EvWakeSkipped     = "task.wake_skipped"
	EvTaskImported    = "task.imported"
	EvTodoImported    = "todo.imported"
	EvProjectCreated  = "project.created"
	EvProjectUpdated  = "project.updated"
	EvChecksFailed    = "task.checks_failed"
	EvCheckRun        = "task.check_run"
	EvResultCreated   = "result.created"
	EvResultAccepted  = "result.accepted"
	EvResultChanges   = "result.changes_requested"
	EvResultVoted     = "result.voted"
	EvResultReminded  = "result.reminded"
	EvReviewReplied   = "result.comment_answered"
	EvMergeQueued     = "merge.queued"
	EvMergeDone       = "merge.done"
	EvMergeFailed     = "merge.failed"
	EvRunMessage      = "run.message_sent"
	EvRunCreated      = "run.created"
	EvRunHeld         = "run.decision_held"
	EvRunUndone       = "run.decision_undone"
	EvRunApproved     = "run.approved"
	EvRunDenied       = "run.denied"
	EvRunExpired      = "run.approval_expired"
	EvRunVoided       = "run.approval_voided"
	EvPermitAsked     = "run.permission_asked"
	EvPermitAllowed   = "run.permission_allowed"
	EvPermitDenied    = "run.permission_denied"
	EvPermitExpired   = "run.permission_expired"
	EvRunStarted      = "run.started"
	EvRunRequeued     = "run.requeued"
	EvRunFollowUp     = "run.follow_up_noted"
	EvRunFiles        = "run.files_changed"
	EvRunCompleted    = "run.completed"
	EvRunFailed       = "run.failed"
	EvRunCanceled     = "run.canceled"
	EvTick            = "scheduler.tick"
	EvInstancePaused  = "yard.paused"
	EvInstanceResumed = "yard.resumed"
	EvInstanceStopped = "yard.stopped"
	EvAgentPaused     = "agent.paused"
	EvAgentResumed    = "agent.resumed"
	EvAgentSaved      = "agent.saved"
	EvAgentDeleted    = "agent.deleted"
	EvViewSaved       = "view.saved"
	EvViewRenamed     = "view.renamed"
	EvViewDeleted     = "view.deleted"
	EvPreference      = "preference.set"
	EvTodoPushed      = "todo.pushed"
	EvTodoPopped      = "todo.popped"
	EvUserCreated     = "user.created"
	EvUserUpdated     = "user.updated"
	EvSignedIn        = "user.signed_in"
	EvSignInFailed    = "user.sign_in_failed"
	EvSignedOut       = "user.signed_out"
	EvTokenCreated    = "token.created"
	EvTokenRevoked    = "token.revoked"
	EvRefused         = "access.refused"
	EvSettings        = "settings.changed"
)

// openNouns are the nouns whose events everyone who may read tasks may read.
// The events of all others (user, token, access, preference, view, settings, and those
// that are yet to come) tell about people, their sign-ins and addresses.
var openNouns = []string{"task", "run", "todo", "scheduler", InstanceNoun, "agent", "project", "result", "merge"}

// InstanceNoun is the noun of events about the whole instance, which pause,
// stop and resume it.
var InstanceNoun, _, _ = strings.Cut(EvInstancePaused, ".")

// EventNouns returns the nouns of the events that a role may read, nil for
// all. It is the one place that decides this. Admins read everything.
func EventNouns(r Role) []string {
	if r.May(Admin) {
		return nil
	}
	return openNouns
}

// planKinds are the events that change the order or the links of a plan.
var planKinds = map[string]bool{
	EvStepAdded: true, EvStepRemoved: true, EvStepMoved: true, EvStepLinked: true,
	EvStepUnlinked: true, EvStepsReplaced: true, EvSubtaskCreated: true,
}

// ArrangesPlan reports whether an event of this kind changes the order or the
// links of a plan: places of steps named by older events may be others now.
func ArrangesPlan(kind string) bool { return planKinds[kind] }

// PlanChange is what an event says of a plan; indexes are 0-based.
type PlanChange struct {
	Step    int    `json:"step"`
	From    int    `json:"from"`
	To      int    `json:"to"`
	Title   string `json:"title"`
	Details string `json:"details"`
	Done    bool   `json:"done"`
	Subtask ID     `json:"subtask"`
}

// PlanChange reads what the event says of a plan; nothing where it says nothing.
func (e *Event) PlanChange() (c PlanChange) {
	_ = json.Unmarshal(e.Changes, &c) // what does not fit stays empty
	return c
}
