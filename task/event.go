package task

import "encoding/json"

// Event is one line of the append-only log.
type Event struct {
	ID      ID              `json:"id"`
	At      Time            `json:"at"`
	Actor   string          `json:"actor"`
	Kind    string          `json:"kind" doc:"noun.verb, such as task.created or run.approved"`
	TaskID  ID              `json:"taskId,omitzero"`
	RunID   ID              `json:"runId,omitzero"`
	Agent   string          `json:"agent,omitempty"`
	Changes json.RawMessage `json:"changes,omitempty" doc:"field: [before, after], or field: value"`
}

// The kinds of events.
const (
	EvTaskCreated    = "task.created"
	EvTaskUpdated    = "task.updated"
	EvTaskStarted    = "task.started"
	EvTaskCompleted  = "task.completed"
	EvTaskCanceled   = "task.canceled"
	EvTaskMoved      = "task.moved"
	EvTaskClaimed    = "task.claimed"
	EvTaskReleased   = "task.released"
	EvClaimExpired   = "task.claim_expired"
	EvBlockersSet    = "task.blockers_set"
	EvBlockerDone    = "task.blocker_done"
	EvBlockerLost    = "task.blocker_canceled"
	EvStepsReplaced  = "task.steps_replaced"
	EvStepUpdated    = "task.step_updated"
	EvSubtaskCreated = "task.subtask_created"
	EvResourceAdded  = "task.resource_added"
	EvResourceGone   = "task.resource_removed"
	EvCommented      = "task.commented"
	EvNotified       = "task.notified"
	EvAsked          = "task.asked"
	EvAnswered       = "task.answered"
	EvAcknowledged   = "task.acknowledged"
	EvUnacknowledged = "task.unacknowledged"
	EvSnoozed        = "task.snoozed"
	EvWoken          = "task.unsnoozed"
	EvTaskStuck      = "task.stuck"
	EvWakeSkipped    = "task.wake_skipped"
	EvTaskImported   = "task.imported"
	EvTodoImported   = "todo.imported"
	EvRunCreated     = "run.created"
	EvRunApproved    = "run.approved"
	EvRunDenied      = "run.denied"
	EvRunExpired     = "run.approval_expired"
	EvRunVoided      = "run.approval_voided"
	EvPermitAsked    = "run.permission_asked"
	EvPermitAllowed  = "run.permission_allowed"
	EvPermitDenied   = "run.permission_denied"
	EvPermitExpired  = "run.permission_expired"
	EvRunStarted     = "run.started"
	EvRunRequeued    = "run.requeued"
	EvRunFollowUp    = "run.follow_up_noted"
	EvRunFiles       = "run.files_changed"
	EvRunCompleted   = "run.completed"
	EvRunFailed      = "run.failed"
	EvRunCanceled    = "run.canceled"
	EvTick           = "scheduler.tick"
	EvYardPaused     = "yard.paused"
	EvYardResumed    = "yard.resumed"
	EvYardStopped    = "yard.stopped"
	EvAgentPaused    = "agent.paused"
	EvAgentResumed   = "agent.resumed"
	EvAgentSaved     = "agent.saved"
	EvAgentDeleted   = "agent.deleted"
	EvTodoPushed     = "todo.pushed"
	EvTodoPopped     = "todo.popped"
	EvUserCreated    = "user.created"
	EvUserUpdated    = "user.updated"
	EvSignedIn       = "user.signed_in"
	EvSignInFailed   = "user.sign_in_failed"
	EvSignedOut      = "user.signed_out"
	EvTokenCreated   = "token.created"
	EvTokenRevoked   = "token.revoked"
	EvRefused        = "access.refused"
)
