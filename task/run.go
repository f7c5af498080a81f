package task

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// RunStatus is the coarse state of a run.
type RunStatus string

// The five states of a run.
const (
	RunPending   RunStatus = "pending"
	RunRunning   RunStatus = "running"
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"
	RunCanceled  RunStatus = "canceled"
)

// Phase is the fine state of a run within its status.
type Phase string

// The phases, by status.
const (
	PhaseApproval Phase = "approval" // pending: a reviewer must decide
	PhaseQueued   Phase = "queued"   // pending: waits for a free place

	PhaseStarting   Phase = "starting"   // running: the process is being made
	PhaseWorking    Phase = "working"    // running: the agent has its prompt
	PhasePermission Phase = "permission" // running: asks before a tool call; time limits are paused
	PhaseCondensing Phase = "condensing" // running: the summary is being made

	PhaseEnded Phase = "ended" // completed

	PhaseError    Phase = "error"    // failed: the program ended with an error
	PhaseTimeout  Phase = "timeout"  // failed: over its wall time
	PhaseIdle     Phase = "idle"     // failed: no progress
	PhaseTokens   Phase = "tokens"   // failed: over its token limit
	PhaseCost     Phase = "cost"     // failed: over its cost limit
	PhaseTurns    Phase = "turns"    // failed: over its turn limit
	PhaseCrash    Phase = "crash"    // failed: killed by a signal not ours
	PhaseProtocol Phase = "protocol" // failed: the program broke its protocol
	PhaseAuth     Phase = "auth"     // failed: credentials refused
	PhaseLost     Phase = "lost"     // failed: the server died under it

	PhaseBy         Phase = "by"          // canceled by somebody
	PhaseDenied     Phase = "denied"      // canceled: a reviewer said no
	PhaseExpired    Phase = "expired"     // canceled: nobody decided in time
	PhaseTaskClosed Phase = "task_closed" // canceled: its task is done or canceled
	PhaseShutdown   Phase = "shutdown"    // canceled by a server stop that could not requeue it
)

// Failures lists the phases of failed.
var Failures = []Phase{
	PhaseError, PhaseTimeout, PhaseIdle, PhaseTokens, PhaseCost, PhaseTurns,
	PhaseCrash, PhaseProtocol, PhasePermission, PhaseAuth, PhaseLost,
}

// OverLimit reports whether a run failed because it used up its tokens, cost or
// turns. Another run of the same task starts over, and would end the same way.
func (p Phase) OverLimit() bool { return p == PhaseTokens || p == PhaseCost || p == PhaseTurns }

// Cancels lists the phases of canceled.
var Cancels = []Phase{PhaseBy, PhaseDenied, PhaseExpired, PhaseTaskClosed, PhaseShutdown}

// State is status and phase together.
type State struct {
	Status RunStatus
	Phase  Phase
}

func (s State) String() string { return string(s.Status) + "/" + string(s.Phase) }

// MaxSession is the longest name of a program's conversation, in bytes.
const MaxSession = 100

// States lists every legal state of a run.
var States = states()

func states() []State {
	list := []State{
		{RunPending, PhaseApproval},
		{RunPending, PhaseQueued},
		{RunRunning, PhaseStarting},
		{RunRunning, PhaseWorking},
		{RunRunning, PhasePermission},
		{RunRunning, PhaseCondensing},
		{RunCompleted, PhaseEnded},
	}
	for _, p := range Failures {
		list = append(list, State{RunFailed, p})
	}
	for _, p := range Cancels {
		list = append(list, State{RunCanceled, p})
	}
	return list
}

// CanMove reports whether a run may go from s to next.
func (s State) CanMove(next State) bool {
	switch s {
	case State{RunPending, PhaseApproval}:
		return next == State{RunPending, PhaseQueued} || next.Status == RunCanceled && slices.Contains(Cancels, next.Phase)
	case State{RunPending, PhaseQueued}:
		return next == State{RunRunning, PhaseStarting} ||
			next == State{RunPending, PhaseApproval} || // the approval became void
			next.Status == RunCanceled && slices.Contains([]Phase{PhaseBy, PhaseTaskClosed, PhaseShutdown}, next.Phase)
	case State{RunRunning, PhaseStarting}, State{RunRunning, PhaseWorking},
		State{RunRunning, PhasePermission}, State{RunRunning, PhaseCondensing}:
		return s.canMoveRunning(next)
	}
	return false
}

func (s State) canMoveRunning(next State) bool {
	switch next.Status {
	case RunPending:
		return next.Phase == PhaseQueued // our own stop cut it; its attempt does not count
	case RunCompleted:
		return next.Phase == PhaseEnded && (s.Phase == PhaseWorking || s.Phase == PhaseCondensing)
	case RunFailed:
		return slices.Contains(Failures, next.Phase) && (next.Phase != PhasePermission || s.Phase == PhasePermission)
	case RunCanceled:
		return slices.Contains([]Phase{PhaseBy, PhaseTaskClosed, PhaseShutdown}, next.Phase)
	case RunRunning:
		switch s.Phase {
		case PhaseStarting:
			return next.Phase == PhaseWorking
		case PhaseWorking:
			return next.Phase == PhasePermission || next.Phase == PhaseCondensing
		case PhasePermission:
			return next.Phase == PhaseWorking
		}
	}
	return false
}

// Final reports whether the status never changes again.
func (s RunStatus) Final() bool { return s == RunCompleted || s == RunFailed || s == RunCanceled }

// Cause says why a run was made.
type Cause string

// The causes of runs.
const (
	CauseTick     Cause = "tick"
	CauseWake     Cause = "wake"
	CauseManual   Cause = "manual"
	CauseRetry    Cause = "retry"
	CauseFollowUp Cause = "follow_up"
	CauseDelegate Cause = "delegate"
)

// Limits bound one run. Zero means: no limit of this sort.
type Limits struct {
	TimeoutSeconds     int     `json:"timeoutSeconds,omitzero"`
	IdleTimeoutSeconds int     `json:"idleTimeoutSeconds,omitzero"`
	MaxTokens          int     `json:"maxTokens,omitzero"`
	MaxTurns           int     `json:"maxTurns,omitzero"`
	MaxCostUSD         float64 `json:"maxCostUsd,omitzero"`
}

// Timeout returns the wall limit as a duration.
func (l Limits) Timeout() time.Duration { return time.Duration(l.TimeoutSeconds) * time.Second }

// IdleTimeout returns the idle limit as a duration.
func (l Limits) IdleTimeout() time.Duration { return time.Duration(l.IdleTimeoutSeconds) * time.Second }

// Tighten returns l with every positive limit of by that is lower. A limit
// that by would widen is an error that names the field.
func (l Limits) Tighten(by Limits) (Limits, error) {
	var p Problems
	tighten(&p, "limits.timeoutSeconds", &l.TimeoutSeconds, by.TimeoutSeconds)
	tighten(&p, "limits.idleTimeoutSeconds", &l.IdleTimeoutSeconds, by.IdleTimeoutSeconds)
	tighten(&p, "limits.maxTokens", &l.MaxTokens, by.MaxTokens)
	tighten(&p, "limits.maxTurns", &l.MaxTurns, by.MaxTurns)
	tighten(&p, "limits.maxCostUsd", &l.MaxCostUSD, by.MaxCostUSD)
	return l, p.Err()
}

func tighten[N int | float64](p *Problems, field string, have *N, want N) {
	switch {
	case want < 0:
		p.Add(field, "must be positive")
	case want > 0 && *have > 0 && want > *have:
		p.Add(field, "may only be tightened: at most %v", *have)
	case want > 0:
		*have = want
	}
}

// AtMost returns l with each limit at most that of by, where by has one.
func (l Limits) AtMost(by Limits) Limits {
	l.TimeoutSeconds = lowerLimit(l.TimeoutSeconds, by.TimeoutSeconds)
	l.IdleTimeoutSeconds = lowerLimit(l.IdleTimeoutSeconds, by.IdleTimeoutSeconds)
	l.MaxTokens = lowerLimit(l.MaxTokens, by.MaxTokens)
	l.MaxTurns = lowerLimit(l.MaxTurns, by.MaxTurns)
	l.MaxCostUSD = lowerLimit(l.MaxCostUSD, by.MaxCostUSD)
	return l
}

// lowerLimit returns the lower of two limits, of which 0 is none.
func lowerLimit[N int | float64](a, b N) N {
	if b > 0 && (a == 0 || b < a) {
		return b
	}
	return a
}

// Usage is what a run has used.
type Usage struct {
	ToolCalls int     `json:"toolCalls"`
	TokensIn  int     `json:"tokensIn"`
	TokensOut int     `json:"tokensOut"`
	CostUSD   float64 `json:"costUsd,omitzero"`

	TokensCached int  `json:"tokensCached,omitzero" doc:"part of tokensIn that was read from the provider's cache"`
	Estimated    bool `json:"estimated,omitzero" doc:"true: the provider did not report all of it"`
}

// Add returns both uses together.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		ToolCalls: u.ToolCalls + v.ToolCalls, TokensIn: u.TokensIn + v.TokensIn,
		TokensOut: u.TokensOut + v.TokensOut, CostUSD: u.CostUSD + v.CostUSD,
		TokensCached: u.TokensCached + v.TokensCached, Estimated: u.Estimated || v.Estimated,
	}
}

// Tokens returns all tokens, in and out.
func (u Usage) Tokens() int { return u.TokensIn + u.TokensOut }

// Scope says how far an approval reaches.
type Scope string

// The scopes of an approval.
const (
	ScopeOnce Scope = "once" // this run
	ScopeTask Scope = "task" // all runs of this task until it closes
)

// Approval is a reviewer's decision, or the wait for it.
type Approval struct {
	Version       string `json:"version" doc:"hash of what will run; send it to approve"`
	ExpiresAt     Time   `json:"expiresAt,omitzero"`
	Decision      string `json:"decision,omitempty" enum:"approved,denied,expired"`
	By            string `json:"by,omitempty"`
	At            Time   `json:"at,omitzero"`
	Scope         Scope  `json:"scope,omitempty" enum:"once,task"`
	Reason        string `json:"reason,omitempty"`
	RequestReason string `json:"why,omitempty" doc:"why it is needed, for example: handed over by reader, who lacks bash"`
}

// Spec is exactly what will run, as a reviewer sees it.
type Spec struct {
	Agent          string   `json:"agent"`
	DefinitionHash string   `json:"definitionHash"`
	Runner         string   `json:"runner"`
	Model          string   `json:"model,omitempty"`
	Tools          []string `json:"tools"`
	SystemPrompt   string   `json:"systemPrompt"`
	Prompt         string   `json:"prompt"`
	Continues      ID       `json:"continues,omitzero" doc:"the run of the same agent whose conversation it continues"`
	Boundary       string   `json:"boundary,omitempty" doc:"random delimiter between texts of different authors in the prompt"`
	Workspace      string   `json:"workspace,omitempty"`
	SharedRun      ID       `json:"sharedRun,omitzero" doc:"the run that delegated it and whose workspace it shares: the folder itself, or a branch of its worktree that is merged back"`
	ReadOnly       bool     `json:"readOnly,omitzero" doc:"true: it may only read the shared folder"`
	Depth          int      `json:"depth"`
	Limits         Limits   `json:"limits"`
	Env            []string `json:"env,omitempty" doc:"names of the environment variables that are passed on, without their values"`
	Network        bool     `json:"network,omitzero" doc:"true: commands of its tool bash may use the network"`
	TaskTools      string   `json:"taskTools,omitempty" doc:"all: it has every task tool and the todo list"`
	Project        string   `json:"project,omitempty" doc:"project of its task; the workspace is the worktree of the task, shared by all its runs"`
	Branch         string   `json:"branch,omitempty" doc:"branch of its task, in the repository of the project"`
	BranchFrom     string   `json:"branchFrom,omitempty" doc:"branch from which that branch was created"`
	Setup          []string `json:"setup,omitempty" doc:"commands that run once in a new worktree of the task"`
	Checks         []string `json:"checks,omitempty" doc:"commands that run on its changes before the task is done"`

	// Traits are set when the run starts; what was approved leaves them open.
	Traits RunnerTraits `json:"traits,omitzero" doc:"properties of its runner when the run started"`
}

// Run is one attempt of an agent on a task, started by Taskyard.
type Run struct {
	ID              ID               `json:"id"`
	TaskID          ID               `json:"taskId"`
	TaskTitle       string           `json:"taskTitle,omitempty"`
	Agent           string           `json:"agent"`
	Status          RunStatus        `json:"status" enum:"pending,running,completed,failed,canceled"`
	Phase           Phase            `json:"phase" doc:"while pending: approval, queued; running: starting, working, permission, condensing; completed: ended; else why it ended, for example: timeout, denied"`
	Cause           Cause            `json:"cause" enum:"tick,wake,manual,retry,follow_up,delegate"`
	AskedBy         string           `json:"askedBy"`
	StartReason     string           `json:"why,omitempty" doc:"why it started, one reason per line, for example: answer by user:maya"`
	Attempt         int              `json:"attempt"`
	RetryOf         ID               `json:"retryOf,omitzero"`
	Reason          string           `json:"reason,omitempty" doc:"why it ended this way, in plain text"`
	Summary         string           `json:"summary,omitempty"`
	Artifacts       []string         `json:"artifacts"`
	Usage           Usage            `json:"usage"`
	Limits          Limits           `json:"limits"`
	Model           string           `json:"model,omitempty"`
	Depth           int              `json:"depth"`
	ParentRun       ID               `json:"parentRun,omitzero" doc:"the run that delegated this one"`
	ParentRunTask   ID               `json:"parentRunTask,omitzero" doc:"the task of that run"`
	DefinitionHash  string           `json:"definitionHash,omitempty"`
	Approval        *Approval        `json:"approval,omitempty"`
	PendingDecision *PendingDecision `json:"held,omitempty" doc:"a decision that can still be undone; it takes effect at until"`
	Permission      *Permission      `json:"permission,omitempty" doc:"the permission that it is waiting for, for a tool call"`
	WaitedMs        int64            `json:"waitedMs,omitzero" doc:"how long it waited for permissions, while its timeouts were paused"`
	FollowUp        bool             `json:"followUp,omitzero" doc:"true: a wake arrived during this run, so one more run follows"`
	CreatedAt       Time             `json:"createdAt"`
	NotBefore       Time             `json:"notBefore,omitzero" doc:"earliest start of a retry"`
	StartedAt       Time             `json:"startedAt,omitzero"`
	EndedAt         Time             `json:"endedAt,omitzero"`
	HeartbeatAt     Time             `json:"heartbeatAt,omitzero"`

	FollowUpReason string `json:"-"` // what happened while it was open, one reason per line: why its follow-up run starts
	Server         string `json:"-"` // that executes it, or is to; "" any, or the only one
	Lease          int64  `json:"-"` // fences the runner's writes; grows with each start
	LeaseExpires   Time   `json:"-"`
	ClaimID        int64  `json:"-"` // the task claim that the run holds
	Spec           *Spec  `json:"-"` // frozen while an approval is needed, and at the start
	Ask            *Ask   `json:"-"` // what bounds it: of a delegated run, or of one that runs with somebody's lesser rights
	TreeRun        ID     `json:"-"` // the run in whose limits its tokens and cost count, or 0
	AskedToken     ID     `json:"-"` // the token with which a person, or a program for them, asked for it, or 0
	PID            int    `json:"-"`
	PIDStart       string `json:"-"` // start time of the process, in kernel ticks
	BootID         string `json:"-"`
	ClosingAt      Time   `json:"-"` // when it ends that has closed its own task; 0: it has not
	Worker         ID     `json:"-"` // token of the worker that executes it; 0: this server does
	ReportedEvents int64  `json:"-"` // events told over the API at this start
	ReportedBytes  int64  `json:"-"` // and their bytes
	Session        string `json:"-"` // the conversation of its program, to continue after a cut; at most MaxSession bytes
	Folder         string `json:"-"` // the name of the folder that holds it, and the run's own files
}

// StartReasonText is what made a run start, on one line and as people name actors.
func StartReasonText(reason string) string {
	return strings.NewReplacer("\n", ", ", "user:", "").Replace(reason)
}

// Delegated reports whether the run does a delegated task.
func (r *Run) Delegated() bool { return r.Ask != nil && !r.Ask.Bounds }

// State returns status and phase together.
func (r *Run) State() State { return State{r.Status, r.Phase} }

// UsageUnknown reports whether a run that did its work reported no tokens: its
// program does not say what it used.
func (r *Run) UsageUnknown() bool { return r.Status == RunCompleted && r.Usage.Tokens() == 0 }

// FolderName returns the name of the folder of a run's files: its own for each
// start, or that of the start whose conversation this one continues, because
// the conversation refers to the files there.
func (r *Run) FolderName() string {
	if r.Worker == 0 && r.Session != "" && r.Folder != "" && r.Folder == filepath.Base(r.Folder) {
		return r.Folder
	}
	return StartFolder(r.ID, r.Lease).Name
}

// WorkTime returns how long the run took, or has taken so far at now, without the
// time it waited for permissions. Its time limit applies to this.
func (r *Run) WorkTime(now Time) time.Duration {
	d := r.Duration(now) - time.Duration(r.WaitedMs)*time.Millisecond
	if r.Phase == PhasePermission && r.Permission != nil && !r.Status.Final() {
		d -= now.Sub(r.Permission.AskedAt)
	}
	return max(d, 0)
}

// Duration returns how long the run took, or has taken so far at now.
func (r *Run) Duration(now Time) time.Duration {
	switch {
	case r.StartedAt == 0:
		return 0
	case r.EndedAt != 0:
		return r.EndedAt.Sub(r.StartedAt)
	}
	return now.Sub(r.StartedAt)
}
