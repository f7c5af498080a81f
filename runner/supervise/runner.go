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
// becomes the reason of the outcome. Any other cause, a plain cancel too,
// counts as ErrShutdown.
var (
	ErrCanceled   = errors.New("canceled")
	ErrTaskClosed = errors.New("the task was closed")
	ErrLeaseLost  = errors.New("nobody takes what it does any more") // the program is not asked to stop, but made to
	ErrShutdown   = errors.New("the server is stopping")
)

// Runner starts one kind of agent. It is safe for concurrent use.
type Runner interface {
	// Probe reports whether the agent can be started here; at most about 10 s.
	Probe(ctx context.Context) Probe
	// Run starts the agent and returns when nothing of it is left. The Outcome
	// is always set. The error is for the server's log: it says that something
	// of ours failed, such as the sink.
	Run(ctx context.Context, spec Spec, sink Sink) (Outcome, error)
}

// Remote is a Runner whose agent works on another machine: it gets no workspace
// here, and its progress is seen only through Spec.Heard.
type Remote interface {
	Runner
	Remote() bool
}

// Confiner is a Runner that knows whether it enforces the tools of an agent.
type Confiner interface {
	Runner
	// EnforcementGap describes, in sentences for people, what an agent with
	// these tools could do here beyond them; "" if they are enforced. refused
	// reports that such an agent is not started for that reason.
	EnforcementGap(tools []string) (sentence string, refused bool)
}

// Probe is what is known of a runner on this machine.
type Probe struct {
	Kind          string
	Installed     bool
	Version       string // first line of what the program says, or ""
	Path          string // the program's file
	Problem       string // why it cannot start, for people
	EnforcesTools bool   // the runner itself refuses tools that are not listed
	Tools         string // how, in a sentence
	Shell         string // how commands of the agent are confined, in words
	Network       string // what of the network it can reach, in words
}

// Spec is one run to be started.
type Spec struct {
	RunID, TaskID task.ID
	Title         string // of the task
	Attempt       int
	Plan          task.Spec       // what was frozen
	URL, Token    string          // the server's address and the run's token
	Dir           string          // private folder of this run, absolute: HOME, TMPDIR and overflow output go below it
	Lease         int64           // distinguishes the starts of one run
	Session       string          // of an interrupted attempt, to continue from; "" for none
	Earlier       []task.Exchange // the conversation of former runs with which it begins
	Former        string          // the Dir of that attempt, where its session lies; may be this Dir
	Heartbeats    <-chan struct{} // the agent used the API; nil: not known
	Waits         <-chan bool     // whether the run waits for what it delegated: its timeouts are paused; nil: it never does
	Unconfined    bool            // the setup of a worktree runs where nothing can confine it, too
	Inbox         *Inbox          // what people say to the run while it works; nil: nobody can
	Readable      func() []string // finds the folders besides its workspace that bash of the built-in agent may read, absolute; nil: none
	Secrets       []string        // redacted, like Token, from every event; empty ones are passed over

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

// Event is something that the agent said or did. Text and Data together are at
// most 32 KiB of valid UTF-8 without NUL. A text event whose Data is
// {"partial":true} is the beginning of a line that continues in the next one.
type Event struct {
	Type string
	Text string
	Data json.RawMessage // one JSON value, or nil
}

// Sink takes what a run reports. Its methods are called one at a time. They may
// block: that slows the program, and Run does not return before they do.
type Sink interface {
	// Started is called once, when the process exists and its prompt is being
	// written. An error stops the run.
	Started(Process) error
	Event(Event)
}

// Process names one process so that a reused PID is not taken for it.
type Process struct {
	PID    int
	Start  string // field 22 of /proc/PID/stat: kernel ticks since boot
	BootID string // /proc/sys/kernel/random/boot_id

	Instance string // whose marks the processes of its run have; "": those of this instance
}

// Outcome is how a run ended. A failed or canceled run has a Reason and no
// Summary.
type Outcome struct {
	Status    task.RunStatus
	Phase     task.Phase
	Reason    string // at most task.MaxReason characters
	Summary   string // at most task.MaxSummaryRun characters
	Artifacts []string
	Usage     task.Usage
	Session   string        // what the program calls its session; "" when it has none
	Permanent bool          // a retry is useless
	After     time.Duration // when the model's provider says to ask again; 0: it does not

	Work *task.Work // what changed in the workspace; nil: nobody looked
}

// Completed makes the outcome of a run that ended well.
func Completed(summary string) Outcome {
	return Outcome{Status: task.RunCompleted, Phase: task.PhaseEnded, Summary: task.ClipChars(summary, task.MaxSummaryRun)}
}

// Failed makes the outcome of a run that went wrong.
func Failed(phase task.Phase, reason string) Outcome {
	return Outcome{Status: task.RunFailed, Phase: phase, Reason: task.ClipChars(reason, task.MaxReason)}
}

// Permanent makes the outcome of a run that a retry would not fix.
func Permanent(phase task.Phase, reason string) Outcome {
	o := Failed(phase, reason)
	o.Permanent = true
	return o
}

// Canceled makes the outcome of a run that its context stopped.
func Canceled(cause error) Outcome {
	o := Outcome{Status: task.RunCanceled, Phase: task.PhaseShutdown, Reason: ErrShutdown.Error()}
	switch {
	case errors.Is(cause, ErrShutdown): // also where nobody takes what it does any more
		o.Reason = cause.Error()
	case errors.Is(cause, ErrCanceled), errors.Is(cause, ErrLeaseLost):
		o.Phase, o.Reason = task.PhaseBy, cause.Error()
	case errors.Is(cause, ErrTaskClosed):
		o.Phase, o.Reason = task.PhaseTaskClosed, cause.Error()
	}
	o.Reason = task.ClipChars(o.Reason, task.MaxReason)
	return o
}
