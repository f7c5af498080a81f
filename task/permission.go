package task

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Bounds of what a run may ask in one permission, in bytes. The input counts
// as answers carry it, with <, > and & escaped: together with its run it fits
// into one answer.
const (
	MaxPermissionTool   = 400
	MaxPermissionInput  = 512 << 10
	MaxPermissionReason = 16 << 10
)

// ScopeRun lets the same tool be called until the run ends.
const ScopeRun Scope = "run"

// The decisions on a permission.
const (
	PermissionAllowed = "allowed"
	PermissionDenied  = "denied"
	PermissionExpired = "expired" // nobody decided in time
	PermissionVoid    = "void"    // the run ended first
)

// Permission is what a running run asks before a tool call, and what a person
// said to it.
type Permission struct {
	Run       ID              `json:"runId"`
	N         int             `json:"n" doc:"counted from 1 in each run"`
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input" doc:"the complete arguments of the call"`
	Reason    string          `json:"reason,omitempty" doc:"the explanation of the agent"`
	AskedAt   Time            `json:"askedAt"`
	ExpiresAt Time            `json:"expiresAt"`
	Decision  string          `json:"decision,omitempty" enum:"allowed,denied,expired,void" doc:"absent while it is pending"`
	Scope     Scope           `json:"scope,omitempty" enum:"once,run"`
	By        string          `json:"by,omitempty"`
	At        Time            `json:"at,omitzero"`
	Message   string          `json:"message,omitempty" doc:"why it was denied"`
}

// IsPending reports whether nobody has decided yet.
func (p *Permission) IsPending() bool { return p.Decision == "" }

// Check refuses what could not be shown to a reviewer whole and to the letter.
// Arguments that are absent become null.
func (p *Permission) Check() error {
	var problems Problems
	if p.Tool == "" || len(p.Tool) > MaxPermissionTool || !utf8.ValidString(p.Tool) {
		problems.Add("tool", "must be 1 to %d bytes of UTF-8", MaxPermissionTool)
	}
	if len(p.Input) == 0 {
		p.Input = json.RawMessage("null")
	}
	if encoded, err := json.Marshal(p.Input); err != nil || len(encoded) > MaxPermissionInput || !utf8.Valid(p.Input) {
		problems.Add("input", "must be one JSON value of at most %d bytes, with 6 for each <, > and &", MaxPermissionInput)
	}
	if len(p.Reason) > MaxPermissionReason || !utf8.ValidString(p.Reason) {
		problems.Add("reason", "must be at most %d bytes of UTF-8", MaxPermissionReason)
	}
	return problems.Err()
}

// Outcome says in a sentence how a permission was decided.
func (p *Permission) Outcome() string {
	s := fmt.Sprintf("Permission %d of run %d", p.N, p.Run)
	switch p.Decision {
	case PermissionAllowed:
		s += " was already allowed by " + ActorLabel(p.By) + " at " + p.At.Minute()
		if p.Scope == ScopeRun {
			s += ", with all further calls of " + p.Tool + " in this run"
		}
	case PermissionDenied:
		s += " was already denied by " + ActorLabel(p.By) + " at " + p.At.Minute() + ": " + p.Message
	case PermissionExpired:
		s += " expired at " + p.At.Minute() + ": nobody decided in time"
	case PermissionVoid:
		s += " is void: the run ended at " + p.At.Minute()
	default:
		s += " waits for a decision"
	}
	return s
}
