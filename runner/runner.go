// Package runner starts agents and watches over them. registry.go has an entry
// for each kind of runner; each kind is a package of its own over supervise,
// which starts programs, keeps their limits and the transcript. Execute
// executes a run, with its workspace; a Prober looks at what can be started.
package runner

import "taskyard/runner/supervise"

// What a caller and a kind of runner say to each other is described in package
// supervise.
type (
	// Runner starts one kind of agent.
	Runner = supervise.Runner
	// Confiner is a Runner that knows whether it enforces the tools of an agent.
	Confiner = supervise.Confiner
	// Probe is what is known of a runner on this machine.
	Probe = supervise.Probe
	// Confinement says which files a program may change.
	Confinement = supervise.Confinement

	// Spec is one run to be started.
	Spec = supervise.Spec
	// Outcome is how a run ended.
	Outcome = supervise.Outcome
	// Process names one process.
	Process = supervise.Process
	// Event is something that the agent said or did.
	Event = supervise.Event

	// Sink takes what a run reports.
	Sink = supervise.Sink
	// SessionKeeper is a Sink that remembers the session of a program.
	SessionKeeper = supervise.SessionKeeper
	// Permitter is a Sink that can ask people before a tool call.
	Permitter = supervise.Permitter
	// Inbox holds what people say to a run while it works.
	Inbox = supervise.Inbox
	// PermissionRequest is a tool call that a person must allow.
	PermissionRequest = supervise.PermissionRequest
	// PermissionAnswer is what a person decided.
	PermissionAnswer = supervise.PermissionAnswer
)

// The types of events.
const (
	EventText       = supervise.EventText
	EventToolCall   = supervise.EventToolCall
	EventToolResult = supervise.EventToolResult
	EventUsage      = supervise.EventUsage
	EventPermission = supervise.EventPermission
	EventLog        = supervise.EventLog
	EventError      = supervise.EventError
)

// The reasons for which a caller stops a run.
var (
	ErrCanceled   = supervise.ErrCanceled
	ErrTaskClosed = supervise.ErrTaskClosed
	ErrLeaseLost  = supervise.ErrLeaseLost
	ErrShutdown   = supervise.ErrShutdown
)

// IsRemote reports whether the agent of a runner works on another machine.
func IsRemote(r Runner) bool {
	remote, ok := r.(supervise.Remote)
	return ok && remote.Remote()
}
