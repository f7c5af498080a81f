package runner

import (
	"context"
	"encoding/json"
)

// Permitter is what a Sink may be besides: somebody whom an agent may ask for
// permission before a tool call that its definition does not cover. Without
// one such calls are refused.
type Permitter interface {
	// Permit may take as long as a person does: the clocks of the run stand
	// still meanwhile. ctx ends when the run is being stopped. It is never
	// called at the same time as a method of Sink. An error refuses the call.
	Permit(ctx context.Context, r PermissionRequest) (PermissionAnswer, error)
}

// PermissionRequest is what an agent wants to do.
type PermissionRequest struct {
	Tool   string          // as the program names it, without secrets
	Input  json.RawMessage // the arguments of the call, without secrets; at most 32 KiB
	Reason string          // why it has to ask
}

// PermissionAnswer is what a person said.
type PermissionAnswer struct {
	Allow   bool
	Message string // of a refusal, for the agent
}

// SessionKeeper is what a Sink may be besides: somebody who remembers the
// session of the agent's program, for a later run to go on from.
type SessionKeeper interface {
	// Session is called once the program has told it, one call at a time with
	// the methods of Sink. id has at most 100 characters.
	Session(id string)
}
