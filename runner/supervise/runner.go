package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"taskyard/task"
)

// The reasons for which a caller stops a run: cancel its context with one of
// them, or with an error that wraps one, as the cause. The text of the error
// becomes the reason of the outcome. Any other cause, including a plain cancel,
// counts as ErrShutdown.
var (
	ErrCanceled   = errors.New("canceled")
	ErrTaskClosed = errors.New("the task was closed")
	ErrLeaseLost  = errors.New("its lease was lost") // the program is killed without being asked to stop
	ErrShutdown   = errors.New("the server is stopping")
)

// Runner starts one kind of agent. It is safe for concurrent use.
type Runner interface {
	// Probe reports whether the agent can start here. It takes at most about 10
	// s.
	Probe(ctx context.Context) Probe
	// Run starts the agent and returns when all of its processes have ended.
	// The Outcome is always set. The error is for the server's log: it
	// describes an internal failure, such as one of the sink.
	Run(ctx context.Context, spec Spec, sink Sink) (Outcome, error)
}

// Remote is a Runner whose agent works on another machine: it has no workspace
// here, and its progress is known only from Spec.Heartbeats.
type Remote interface {
	Runner
	Remote() bool
}

// Confiner is a Runner that reports whether it enforces the tools of an agent.
type Confiner interface {
	Runner
	// EnforcementGap describes, in sentences for people, what an agent with
	// these tools could do here beyond them; "" if they are enforced. refused
	// reports whether such agents are not started because of that.
	EnforcementGap(tools []string) (sentence string, refused bool)
}

// Probe describes a runner on this machine.
type Probe struct {
	Kind          string
	Installed     bool
	Version       string // first line of the program's version output, or ""
	Path          string // path of the program
	Problem       string // why it cannot start, for people
	EnforcesTools bool   // the runner itself blocks tools that are not listed
	Tools         string // how, in a sentence
	Shell         string // how commands of the agent are confined, in words
	Network       string // which part of the network it can reach, in words
}

// Spec describes one run to start.
type Spec struct {
	RunID, TaskID task.ID
	Title         string // title of the task
	Attempt       int
	Plan          task.Spec       // the frozen plan
	URL, Token    string          // the server's URL and the run's token
	Dir           string          // private folder of this run, absolute; contains HOME, TMPDIR and overflow output
	Lease         int64           // distinguishes the attempts of one run
	Session       string          // session of an interrupted attempt to continue; "": none
	Earlier       []task.Exchange // conversation of earlier runs to begin with
	Former        string          // Dir of that attempt, which contains its session; may be this Dir
	Heartbeats    <-chan struct{} // signaled when the agent used the API; nil: unknown
	Waits         <-chan bool     // whether the run waits for a delegated run, which pauses its timeouts; nil: never
	Unconfined    bool            // run the setup of a worktree even if nothing can confine it
	Inbox         *Inbox          // messages from people to the working run; nil: unsupported
	Readable      func() []string // returns additional folders that bash of the built-in agent may read, absolute; nil: none
	Secrets       []string        // redacted from every event, like Token; empty ones are skipped

	task.RunFolders
}

// The types of events.
const (
	EventText       = "text"
	EventToolCall   = "tool_call"
	EventToolResult = "tool_result"
	EventUsage      = "usage"
	EventPermission = "permission"
	EventLog        = "log"
	EventError      = "error"
)

// Event is an action or output of the agent. Text and Data together are at most
// 32 KiB of valid UTF-8 without NUL. A text event with the Data
// {"partial":true} is the beginning of a line that continues in the next event.
type Event struct {
	Type string
	Text string
	Data json.RawMessage // one JSON value, or nil
}

// Sink receives the events of a run. Its methods are called one at a time. They
// may block, which slows the program; Run does not return before they do.
type Sink interface {
	// Started is called once, when the process exists and its prompt is being
	// written. If it returns an error, the run stops.
	Started(Process) error
	Event(Event)
}

// Process identifies one process, even if its PID is reused.
type Process struct {
	PID    int
	Start  string // field 22 of /proc/PID/stat: kernel ticks since boot
	BootID string // /proc/sys/kernel/random/boot_id

	Instance string // instance whose marks the processes of its run have; "": this instance
}

// Outcome is the end of a run. A failed or canceled run has a Reason and no
// Summary.
type Outcome struct {
	Status    task.RunStatus
	Phase     task.Phase
	Reason    string // at most task.MaxReason characters
	Summary   string // at most task.MaxSummaryRun characters
	Artifacts []string
	Usage     task.Usage
	Session   string        // the program's name for its session; "": none
	Permanent bool          // a retry is useless
	After     time.Duration // when the model provider allows a retry; 0: unspecified

	Work *task.Work // changes in the workspace; nil: not compared
}

// Completed returns the outcome of a successful run.
func Completed(summary string) Outcome {
	return Outcome{Status: task.RunCompleted, Phase: task.PhaseEnded, Summary: task.ClipChars(summary, task.MaxSummaryRun)}
}

// Failed returns the outcome of a failed run.
func Failed(phase task.Phase, reason string) Outcome {
	return Outcome{Status: task.RunFailed, Phase: phase, Reason: task.ClipChars(reason, task.MaxReason)}
}

// Permanent returns the outcome of a failed run that a retry would not fix.
func Permanent(phase task.Phase, reason string) Outcome {
	o := Failed(phase, reason)
	o.Permanent = true
	return o
}

// Canceled returns the outcome of a run that was stopped by its context.
func Canceled(cause error) Outcome {
	o := Outcome{Status: task.RunCanceled, Phase: task.PhaseShutdown, Reason: ErrShutdown.Error()}
	switch {
	case errors.Is(cause, ErrShutdown): // also if the lease was lost
		o.Reason = cause.Error()
	case errors.Is(cause, ErrCanceled), errors.Is(cause, ErrLeaseLost):
		o.Phase, o.Reason = task.PhaseBy, cause.Error()
	case errors.Is(cause, ErrTaskClosed):
		o.Phase, o.Reason = task.PhaseTaskClosed, cause.Error()
	}
	o.Reason = task.ClipChars(o.Reason, task.MaxReason)
	return o
}
