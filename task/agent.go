package task

import (
	"slices"
	"time"
)

// AgentStatus is the verdict on a definition file.
type AgentStatus string

// The verdicts.
const (
	AgentValid   AgentStatus = "valid"
	AgentWarning AgentStatus = "warning" // runnable; unknown tools are never granted
	AgentInvalid AgentStatus = "invalid" // not runnable
)

// Policy says which runs of an agent a person must approve.
type Policy string

// The approval policies.
const (
	ApproveAlways    Policy = "always"
	ApproveDelegated Policy = "delegated"
	ApproveNever     Policy = "never"
)

// What a definition may let an agent do with tasks. The narrower one holds
// where both are named.
const (
	CapabilityTasks = "tasks"     // use tasks at all
	CapabilityOwn   = "tasks:own" // use only its own tasks and their families
)

// Capabilities are all that there are.
var Capabilities = []string{CapabilityTasks, CapabilityOwn}

// Problem is one finding in a definition file.
type Problem struct {
	Line    int    `json:"line" doc:"1-based; 0 for the whole file"`
	Fatal   bool   `json:"fatal" doc:"true: the definition is invalid"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Agent is a definition file, parsed and checked.
type Agent struct {
	ID               string            `json:"id"`
	Name             string            `json:"name"`
	Description      string            `json:"description"`
	Tools            []string          `json:"tools" doc:"only known tools, normalized"`
	UnknownTools     []string          `json:"unknownTools,omitempty"`
	Prompt           string            `json:"-"`
	Runner           string            `json:"runner"`
	Model            string            `json:"model,omitempty"`
	Models           map[string]string `json:"models,omitempty" doc:"low, medium, high"`
	MaxTurns         int               `json:"maxTurns,omitzero"`
	MaxTokens        int               `json:"maxTokens,omitzero"`
	MaxCostUSD       float64           `json:"maxCostUsd,omitzero"`
	MaxTokensPerDay  int               `json:"maxTokensPerDay,omitzero"`
	MaxCostUSDPerDay float64           `json:"maxCostUsdPerDay,omitzero"`
	Timeout          time.Duration     `json:"-"`
	IdleTimeout      time.Duration     `json:"-"`
	MaxClaims        int               `json:"maxClaims,omitzero"`
	MaxParallel      int               `json:"maxParallel"`
	Approval         Policy            `json:"approval,omitempty"` // "" means the configured policy
	Capabilities     []string          `json:"capabilities"`
	TaskTools        string            `json:"taskTools,omitempty" enum:"all" doc:"all: the built-in agent has every task tool and the todo list, not only the core tools"`
	Workspace        string            `json:"workspace,omitempty"`
	Network          bool              `json:"network"`
	Env              []string          `json:"env,omitempty"`
	Projects         []string          `json:"projects,omitempty" doc:"projects whose tasks it works on; absent: all"`
	Checks           []Check           `json:"checks,omitempty" doc:"checks that run before a task of the agent is done, with those of its project"`
	Review           *Review           `json:"review,omitempty" doc:"who must accept results of the agent, in addition to what their project requires"`

	Status     AgentStatus `json:"status" enum:"valid,warning,invalid"`
	Problems   []Problem   `json:"problems"`
	Serving    bool        `json:"serving" doc:"false: there is no valid version; it can own only drafts"`
	PullOnly   bool        `json:"pullOnly" doc:"true: Taskyard never starts it; it claims its own work"`
	PullReason string      `json:"pullReason,omitempty"`
	Hash       string      `json:"hash" doc:"SHA-256 of the text that is in use"`
	Text       string      `json:"-"` // the text that serves
	FileText   string      `json:"-"` // the text on disk, where it is newer and invalid
	FileHash   string      `json:"fileHash" doc:"SHA-256 of the file as it is now"`
	LoadedAt   Time        `json:"loadedAt"`
}

// Can reports whether the definition grants a capability.
func (a *Agent) Can(capability string) bool { return slices.Contains(a.Capabilities, capability) }

// WorksOn reports whether the agent works on tasks of a project. A task without
// project is none of another one.
func (a *Agent) WorksOn(project string) bool {
	return project == "" || len(a.Projects) == 0 || slices.Contains(a.Projects, project)
}

// HasTool reports whether the definition lists a tool.
func (a *Agent) HasTool(tool string) bool { return slices.Contains(a.Tools, tool) }

// AllTaskTools as TaskTools of an agent shows it every task tool.
const AllTaskTools = "all"

// KnownTools lists the tools that a definition may name, harmless first.
var KnownTools = []string{"read", "list", "glob", "grep", "fetch", "create", "edit", "bash", "task"}

// RiskLevel says how much harm a tool can do: 0 reads, 1 reaches out or
// delegates, 2 writes, 3 runs commands.
func RiskLevel(tool string) int {
	switch tool {
	case "read", "list", "glob", "grep":
		return 0
	case "fetch", "task":
		return 1
	case "create", "edit":
		return 2
	}
	return 3
}

// Writes reports whether one of the tools can write files. Unknown ones are
// never granted.
func Writes(tools []string) bool {
	return slices.ContainsFunc(tools, func(tool string) bool { return RiskLevel(tool) >= 2 && slices.Contains(KnownTools, tool) })
}

// AgentTemplate is a text with which a new definition may begin.
type AgentTemplate struct {
	Key   string // names it in an address
	Title string
	About string // what it is for, as a sentence
	ID    string // a file name that suits it, or ""
	Text  string
}
