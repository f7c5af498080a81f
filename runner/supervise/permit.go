package supervise

import (
	"context"
	"encoding/json"
	"errors"
)

// PermissionRequest is a tool call that an agent may make only when a person
// allows it.
type PermissionRequest struct {
	Tool   string          // its name, at most task.MaxPermissionTool bytes
	Input  json.RawMessage // its arguments whole, one JSON value, at most task.MaxPermissionInput bytes
	Reason string          // what the agent or its program says to it, or ""
}

// PermissionAnswer is what a person decided, or what follows from nobody
// deciding in time.
type PermissionAnswer struct {
	Allow   bool
	Message string // for the agent: why not; "" when allowed
}

// Permitter is a Sink that can ask people before a tool call. Permit returns
// when somebody decided, the question expired, or ctx ended; it may be called
// from several goroutines, and beside the other methods of the sink. While it
// waits, the clocks of the run are paused. An error means that there will be
// no answer: the run has ended or the request cannot be recorded; the call
// must then not be made.
type Permitter interface {
	Permit(ctx context.Context, req PermissionRequest) (PermissionAnswer, error)
}

// CanAsk reports whether there are people to ask.
func (r *Run) CanAsk() bool {
	_, ok := r.sink.(Permitter)
	return ok
}

// Permit asks people through the sink, with the clocks of the run paused
// still. A sink that cannot ask is an error.
func (r *Run) Permit(ctx context.Context, req PermissionRequest) (a PermissionAnswer, err error) {
	p, ok := r.sink.(Permitter)
	if !ok {
		return a, errors.New("permissions cannot be requested here")
	}
	r.clock.pause(func() { a, err = p.Permit(ctx, req) })
	return a, err
}
