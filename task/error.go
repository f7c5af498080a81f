package task

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Kind groups errors by what the caller can do about them.
type Kind string

// The kinds, with the HTTP status that each becomes.
const (
	Malformed    Kind = "malformed"    // 400: not JSON, not UTF-8
	Unauthorized Kind = "unauthorized" // 401: who are you
	Forbidden    Kind = "forbidden"    // 403: you may not
	NotFound     Kind = "not_found"    // 404
	Conflict     Kind = "conflict"     // 409: the state forbids it
	Invalid      Kind = "invalid"      // 422: a field is wrong
	TooMany      Kind = "too_many"     // 429: later
	Unavailable  Kind = "unavailable"  // 503: not now, our side
	Full         Kind = "full"         // 507: the disk is full
)

// Code is a stable, documented name of one error. Codes lists them all.
type Code string

// The error codes of every surface.
const (
	CodeInvalidJSON      Code = "invalid_json"
	CodeInvalidField     Code = "invalid_field"
	CodeUnknownAgent     Code = "unknown_agent"
	CodeInvalidAgent     Code = "invalid_agent"
	CodeImmutableField   Code = "immutable_field"
	CodeBodyTooLarge     Code = "body_too_large"
	CodeUnsupportedMedia Code = "unsupported_media_type"
	CodeMethodNotAllowed Code = "method_not_allowed"
	CodeUnauthorized     Code = "unauthorized"
	CodeForbidden        Code = "forbidden"
	CodeNotYourName      Code = "not_your_name"
	CodeCrossSite        Code = "cross_site"
	CodeMisdirected      Code = "misdirected"
	CodeNotFound         Code = "not_found"
	CodeTaskNotFound     Code = "task_not_found"
	CodeRunNotFound      Code = "run_not_found"
	CodeAgentNotFound    Code = "agent_not_found"
	CodeTransition       Code = "status_transition"
	CodeArchived         Code = "task_archived"
	CodeNotWorking       Code = "task_not_working"
	CodeNotAssigned      Code = "task_not_assigned"
	CodeClaimed          Code = "task_claimed"
	CodeStaleClaim       Code = "stale_claim"
	CodeStaleVersion     Code = "stale_version"
	CodeStepLinked       Code = "step_linked"
	CodeNestingLimit     Code = "nesting_limit"
	CodeMaxClaims        Code = "max_claims"
	CodeTaskGated        Code = "task_gated"
	CodeDependencyCycle  Code = "dependency_cycle"
	CodeQuestionOpen     Code = "question_open"
	CodeNoQuestion       Code = "no_open_question"
	CodeTaskNotActive    Code = "task_not_active"
	CodeRunOpen          Code = "run_open"
	CodePullOnly         Code = "agent_pull_only"
	CodeDepthExceeded    Code = "depth_exceeded"
	CodeDelegationOff    Code = "delegation_off"
	CodePaused           Code = "paused"
	CodeNotPaused        Code = "not_paused"
	CodeRunDecided       Code = "run_already_decided"
	CodeExpiresSoon      Code = "expires_soon"
	CodeRunEnded         Code = "run_ended"
	CodeNoRunMessages    Code = "run_takes_no_messages"
	CodeRunNotFinal      Code = "run_not_ended"
	CodeRunChanged       Code = "run_changed"
	CodeStaleLease       Code = "stale_lease"
	CodeAgentBusy        Code = "agent_owns_tasks"
	CodeStaleAgent       Code = "stale_definition"
	CodeNameTaken        Code = "name_taken"
	CodeLastAdmin        Code = "last_admin"
	CodeSetupDone        Code = "setup_done"
	CodeIdempotencyReuse Code = "idempotency_key_reused"
	CodeRateLimited      Code = "rate_limited"
	CodeQueueFull        Code = "queue_full"
	CodeQuotaExceeded    Code = "quota_exceeded"
	CodeConfigInvalid    Code = "invalid_configuration"
	CodeUnavailable      Code = "unavailable"
	CodeProjectNotFound  Code = "project_not_found"
	CodeProjectArchived  Code = "project_archived"
	CodeStaleProject     Code = "stale_project"
	CodeRepository       Code = "repository_unusable"
	CodeChecksFailed     Code = "checks_failed"
	CodeChecksRunning    Code = "checks_running"
	CodeReviewNeeded     Code = "review_needed"
	CodeResultNotFound   Code = "result_not_found"
	CodeResultClosed     Code = "result_closed"
	CodeStaleDigest      Code = "stale_digest"
	CodeMergeWaits       Code = "merge_waits"
	CodeMergeMoved       Code = "merge_target_moved"
	CodeDiskFull         Code = "disk_full"
	CodeOutcomeUnknown   Code = "outcome_unknown"
	CodeInternal         Code = "internal"
)

// Codes documents every code: what it means and what to do.
var Codes = []struct {
	Code Code
	Doc  string
}{
	{CodeInvalidJSON, "The body is not one JSON value of valid UTF-8 with unique names, at most 32 levels deep. Send one object."},
	{CodeInvalidField, "A field is missing, unknown, of the wrong type or out of bounds. `errors` lists each field and how to fix it."},
	{CodeUnknownAgent, "No agent of that name is defined. The message lists the known agents."},
	{CodeInvalidAgent, "The agent's definition is invalid, so it may own drafts only. Fix the file; " +
		"the Agents page shows the line and the reason."},
	{CodeImmutableField, "The field never changes: id, createdBy, createdAt, threadId, a step's taskId. Leave it out."},
	{CodeBodyTooLarge, "The body is over 1 MiB. Send less."},
	{CodeUnsupportedMedia, "Send `Content-Type: application/json`."},
	{CodeMethodNotAllowed, "The path exists, but not with this method."},
	{CodeUnauthorized, "No token or session, or a bad, expired or revoked one."},
	{CodeForbidden, "Your role, token scope or relation to the task does not allow this."},
	{CodeNotYourName, "An agent may speak only as itself. Use the agent that the token belongs to, or a token with the scope act-as."},
	{CodeCrossSite, "The browser request came from another site, or without its form token. Reload the page and submit again."},
	{CodeMisdirected, "The Host header is not one that this server answers to. Set public_url or allowed_hosts."},
	{CodeNotFound, "No endpoint has this path, or the thing that it names does not exist."},
	{CodeTaskNotFound, "No task has this id."},
	{CodeRunNotFound, "No run has this id."},
	{CodeAgentNotFound, "No agent has this id."},
	{CodeTransition, "The task cannot change from its current status to the requested one. The message names both."},
	{CodeArchived, "The task is done or canceled, and archived tasks are read-only. Create a follow-up instead."},
	{CodeNotWorking, "The task has no active claim. Sign up for it first."},
	{CodeNotAssigned, "The task belongs to another agent. The message names its owner."},
	{CodeClaimed, "The task is already claimed. Wait, or release the claim."},
	{CodeStaleClaim, "The claim ID is not the current one: the lease expired or the task moved on. Sign up again."},
	{CodeStaleVersion, "The task changed since you read it; `task` is the current version. Merge your change and send it again."},
	{CodeStepLinked, "The step has a subtask. A step has at most one, and a plan with linked steps is changed step by step."},
	{CodeNestingLimit, "Subtasks nest at most 10 deep."},
	{CodeMaxClaims, "The agent holds as many claims as its definition allows (max_claims)."},
	{CodeTaskGated, "The task waits: a question is open, a run of it is waiting or running, " +
		"or a task that blocks it is not done. The message names it."},
	{CodeDependencyCycle, "The task would wait for itself, directly or indirectly. " +
		"The message shows the path; remove one of its tasks."},
	{CodeQuestionOpen, "A question to people is already open on this task. Wait for the answer."},
	{CodeNoQuestion, "No question is open on this task, or a different one than you answered. Read the task again, and comment instead."},
	{CodeTaskNotActive, "Only active tasks run. Start the draft first."},
	{CodeRunOpen, "A run of this task is already waiting or running."},
	{CodePullOnly, "The agent is not started by Taskyard: it claims its own work. The message gives the reason."},
	{CodeDepthExceeded, "The caller's run is at the maximum depth of delegation (task_tool.max_depth). Do the work in this run."},
	{CodeDelegationOff, "Delegation is turned off on this server (task_tool.enabled). Do the work in this run."},
	{CodePaused, "The server or the agent is paused: no runs start and no agent can sign up until " +
		"a person resumes it. The message says who, since when and why."},
	{CodeNotPaused, "There is nothing to resume: neither the server nor the named agent is paused."},
	{CodeRunDecided, "This run, or the permission that it asked for, has already been decided. The message says by whom, how and when."},
	{CodeExpiresSoon, "The item expires soon, so it cannot be snoozed. Decide now."},
	{CodeNoRunMessages, "The run takes no messages now, or its runner does not support them. Comment on the task; its next run reads it."},
	{CodeRunEnded, "The run has ended and is read-only."},
	{CodeRunNotFinal, "The run has not ended yet. Cancel it, or wait."},
	{CodeRunChanged, "The run has changed since you reviewed it. Review it again; `version` is the new one."},
	{CodeStaleLease, "This runner no longer holds the run. Stop."},
	{CodeAgentBusy, "The agent still owns active tasks. Move or finish them first."},
	{CodeStaleAgent, "The definition file changed since you read it. Read it again and merge."},
	{CodeNameTaken, "The name is already in use."},
	{CodeLastAdmin, "This is the last admin. Add another one first."},
	{CodeSetupDone, "The first admin already exists. Sign in."},
	{CodeIdempotencyReuse, "The Idempotency-Key was used with another request. Use a new key for a new request."},
	{CodeRateLimited, "Too many requests of this kind. Wait as many seconds as Retry-After says."},
	{CodeQueueFull, "The agent's queue or todo list is full. Wait as many seconds as Retry-After says."},
	{CodeQuotaExceeded, "The token, or the person behind it, has used up a quota. The message " +
		"names it and its limit; wait as many seconds as Retry-After says."},
	{CodeConfigInvalid, "The configuration file is not valid, or cannot be written. Nothing was changed; the message says where and why."},
	{CodeUnavailable, "The server cannot do this now: it is starting, stopping, or its database is not writable. Try again."},
	{CodeProjectNotFound, "No project has this key."},
	{CodeProjectArchived, "The project is archived: it takes no new tasks and no results."},
	{CodeStaleProject, "The project changed since you read it. Read it again, merge, and send the new version."},
	{CodeRepository, "The Git repository of the project, or the branch of the task, cannot be used. The message says why."},
	{CodeChecksFailed, "A required check did not pass, so the task is not completed. The message names it, with the end of its log. " +
		"Fix the cause and complete the task again."},
	{CodeChecksRunning, "The checks of the task are still running. Make the same call again: it waits for them and returns their outcome."},
	{CodeReviewNeeded, "The task belongs to a project, so it is completed only by its own call: its checks run, " +
		"and people may have to accept the result."},
	{CodeResultNotFound, "The task has no such result."},
	{CodeResultClosed, "The result is no longer under review. The message says what became of it."},
	{CodeStaleDigest, "The result is not the one that you saw. Read it again and decide on its current digest."},
	{CodeMergeWaits, "The branch is checked out in a folder with local changes. Commit or stash them; the merge is retried."},
	{CodeMergeMoved, "The target branch moved while the merge was prepared. It is retried."},
	{CodeDiskFull, "The server's disk is full. Nothing was written; reads continue."},
	{CodeOutcomeUnknown, "The disk or a file failed during the write: it may or may not be stored. Check " +
		"after the server has restarted; repeating with the same Idempotency-Key is safe."},
	{CodeInternal, "Internal server error. Report the request ID to your administrator; the log has the details."},
}

// FieldError is one wrong field of a request.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is an error that the caller may read. Anything else is internal.
type Error struct {
	Kind    Kind
	Code    Code
	Field   string       // the wrong field, or ""
	Message string       // a sentence for the caller
	Fields  []FieldError // further wrong fields; at most MaxProblems
	More    int          // wrong fields beyond those listed
	Task    *Task        // the present task, with CodeStaleVersion
	Version string       // the present version, with CodeRunChanged
	Retry   int          // seconds to wait, with TooMany
	Perm    Perm         // the permission that was missing, or 0: another rule refused
}

func (e *Error) Error() string { return e.Message }

// AllFields returns Field and Fields as one list.
func (e *Error) AllFields() []FieldError {
	if e.Field == "" {
		return e.Fields
	}
	return append([]FieldError{{e.Field, e.Message}}, e.Fields...)
}

// Errorf makes an Error.
func Errorf(kind Kind, code Code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// FieldErrorf makes an Invalid error that names a field.
func FieldErrorf(field, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Code: CodeInvalidField, Field: field, Message: fmt.Sprintf(format, args...)}
}

// ProjectNotFound says that there is no project with this key.
func ProjectNotFound(key string) *Error {
	return Errorf(NotFound, CodeProjectNotFound, "There is no project %q", key)
}

// ResultNotFound says that a task has no result with this number.
func ResultNotFound(id ID, number int) *Error {
	return Errorf(NotFound, CodeResultNotFound, "Task %d has no result %d", id, number)
}

// TaskNotFound is the error for an unknown task.
func TaskNotFound(id ID) *Error {
	return Errorf(NotFound, CodeTaskNotFound, "Task not found: %d", id)
}

// RunNotFound is the error for an unknown run.
func RunNotFound(id ID) *Error { return Errorf(NotFound, CodeRunNotFound, "Run not found: %d", id) }

// IsCode reports whether err is an Error with this code.
func IsCode(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// MaxProblems is how many wrong fields one error lists. The rest are counted,
// so that a request full of mistakes is not answered by a longer list of them.
const MaxProblems = 20

// maxFieldName and maxFieldMessage bound, in bytes, what one wrong field adds
// to an error: both may repeat what the caller sent.
const (
	maxFieldName    = 200
	maxFieldMessage = 2000
)

// Problems collects the wrong fields of one request, so that all are reported
// at once: the first MaxProblems by name, the rest as a number.
type Problems struct {
	list []FieldError
	more int
}

// Add adds a problem with a field.
func (p *Problems) Add(field, format string, args ...any) {
	if len(p.list) == MaxProblems {
		p.more++
		return
	}
	p.list = append(p.list, FieldError{ClipText(field, maxFieldName), ClipText(fmt.Sprintf(format, args...), maxFieldMessage)})
}

// AddMore counts n wrong fields that are not listed.
func (p *Problems) AddMore(n int) { p.more += n }

// Count returns how many wrong fields were noted, listed or not.
func (p *Problems) Count() int { return len(p.list) + p.more }

// Err returns nil, or one Invalid error with the noted fields.
func (p *Problems) Err() error {
	if len(p.list) == 0 {
		return nil
	}
	return &Error{Kind: Invalid, Code: CodeInvalidField, Message: JoinFields(p.list, p.more), Fields: p.list, More: p.more}
}

// JoinFields returns wrong fields as one sentence: "title: is required;
// owner: is required; and 3 more".
func JoinFields(list []FieldError, more int) string {
	parts := make([]string, 0, len(list)+1)
	for _, f := range list {
		parts = append(parts, f.Field+": "+f.Message)
	}
	if more > 0 {
		parts = append(parts, "and "+groupDigits(more)+" more")
	}
	return strings.Join(parts, "; ")
}

// groupDigits writes a count with a comma between groups of three digits.
func groupDigits(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
