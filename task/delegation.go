package task

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// Delegation is what a caller says of work that another agent is to do for it.
type Delegation struct {
	ParentTask ID     // 0: the task of the caller's run; none for callers without a run
	Task       string // what to do, in words; at most MaxText bytes
	AgentType  string // who does it; "" means DefaultDelegate
	Model      string // "" leaves it to complexity, agent, parent and provider
	Complexity string // low, medium, high or ""
	StepIndex  *int   // 0-based step of the parent that the subtask is linked to
	Resources  []int  // 0-based resources of the parent that it is given
	Tools      []string
	Limits     Limits        // tighter ones
	Wait       time.Duration // for the end; 0 to MaxWait
}

// Key identifies a request: two that ask for the same have the same key.
func (d Delegation) Key() string {
	d.Wait, d.ParentTask = 0, 0
	b, err := json.Marshal(d)
	if err != nil {
		panic(err) // a plain struct
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// DefaultDelegate is the agent that does what is given to no agent by name.
const DefaultDelegate = "general-purpose"

// ListAgents as an agent type asks for the agents instead.
const ListAgents = "list"

// Complexities lists the estimates of a delegation, which choose a model.
var Complexities = []string{"low", "medium", "high"}

// Delegated is the state of a delegation. Until it has ended, status is pending
// or running and success is false.
type Delegated struct {
	RunID         ID        `json:"runId" doc:"its last run; each retry has its own id, and all of these ids identify the delegation"`
	TaskID        ID        `json:"taskId"`
	Status        RunStatus `json:"status" enum:"pending,running,completed,failed,canceled"`
	Phase         Phase     `json:"phase" doc:"while pending: approval, queued, question (a person must answer first) or handed_on (another agent has the task); else the phase of the run"`
	Success       bool      `json:"success"`
	Summary       string    `json:"summary" doc:"at most 8000 characters; the transcript can be read by runId"`
	FilesModified []string  `json:"filesModified" doc:"files that its last run changed, at most 1000; until it has ended, and if the workspace was not compared, what its tools create and edit wrote"`
	FilesRead     []string  `json:"filesRead,omitempty" doc:"files that it read with its tool read, at most 200"`
	Merge         string    `json:"merge,omitempty" doc:"whether its files were merged into your worktree, and if not, why, with the files in conflict and the branch that has them"`
	Artifacts     []string  `json:"artifacts" doc:"sorted"`
	Model         string    `json:"model,omitempty"`
	ToolCalls     int       `json:"toolCalls"`
	TokensUsed    int       `json:"tokensUsed" doc:"total of all runs of the task"`
	Joined        bool      `json:"joined,omitzero" doc:"true: the same request was already open, so no second one was created"`
	Error         string    `json:"error" doc:"what failed and why, if it ended without success"`
	LastWords     string    `json:"lastWords,omitempty" doc:"last message of a failed run"`
}

// Ended reports whether nothing more comes of the delegation by itself.
func (d Delegated) Ended() bool { return d.Status.Final() }

// The phases of a delegation whose run has ended while its task continues.
const (
	PhaseQuestion Phase = "question"  // a person must answer first
	PhaseHandedOn Phase = "handed_on" // the task waits for another run or agent
)

// AgentType describes an agent to the callers that may delegate to it.
type AgentType struct {
	ID          string   `json:"id"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"`
	Startable   bool     `json:"startable"`
	Reason      string   `json:"reason,omitempty" doc:"why it cannot be started"`
}

// Ask is what bounds every run of a delegated task: the model that was settled
// and the widest tools and limits.
type Ask struct {
	Model      string   `json:"model,omitempty"`
	Complexity string   `json:"complexity,omitempty"`
	Tools      []string `json:"tools,omitzero"` // nil: no bound
	Limits     Limits   `json:"limits,omitzero"`
	NoNetwork  bool     `json:"noNetwork,omitzero"` // its shell has none, whatever the definition says
	Request    string   `json:"request,omitempty"`  // Delegation.Key of what was asked
	Bounds     bool     `json:"bounds,omitzero"`    // not a delegation: tools and limits that hold for other reasons
}

// ShortenSummary cuts a result to MaxSummaryRun characters and says so, and where
// the rest is.
func ShortenSummary(summary string, run ID) string {
	if utf8.RuneCountInString(summary) <= MaxSummaryRun {
		return summary
	}
	mark := "… (cut; the whole transcript: run " + run.String() + ")"
	return string([]rune(summary)[:MaxSummaryRun-utf8.RuneCountInString(mark)]) + mark
}
