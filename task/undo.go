package task

import (
	"slices"
	"time"
)

// UndoWindow is how long a decision made on a page can be undone.
const UndoWindow = 5 * time.Second

// MaxUndoWindow bounds the window that a caller may ask for.
const MaxUndoWindow = time.Minute

// PendingDecision is a decision on a run that has not taken effect yet: it
// takes effect at Until, and until then whoever made it can undo it.
type PendingDecision struct {
	Decision string `json:"decision" enum:"approved,denied"`
	By       string `json:"by"`
	At       Time   `json:"at"`
	Until    Time   `json:"until" doc:"when it takes effect"`
	Scope    Scope  `json:"scope,omitempty" enum:"once,task"`
	Limits   Limits `json:"limits,omitzero" doc:"tighter limits"`
	Reason   string `json:"reason,omitempty"`
}

// Skipped is a run that an act on many runs left alone, and why.
type Skipped struct {
	Run    ID
	Reason string
}

// Decided is what an act on many runs did.
type Decided struct {
	Done    []ID
	Skipped []Skipped
}

// ReadOnly reports whether tools do nothing but read.
func ReadOnly(tools []string) bool {
	return len(tools) > 0 && !slices.ContainsFunc(tools, func(t string) bool { return RiskLevel(t) > 0 })
}
