package supervise

import (
	"context"
	"encoding/json"
	"errors"
)

// PermissionRequest is a tool call for which an agent needs a person's
// permission.
type PermissionRequest struct {
	Tool   string          // its name, at most task.MaxPermissionTool bytes
	Input  json.RawMessage // its complete arguments, one JSON value, at most task.MaxPermissionInput bytes
	Reason string          // explanation of the agent or its program, or ""
}

// PermissionAnswer is a person's decision, or the result of an expired request.
type PermissionAnswer struct {
	Allow   bool
	Message string // for the agent: why not; "" if allowed
}

// Permitter is a Sink that can ask people before a tool call. Permit returns
// when someone has decided, the request has expired, or ctx has ended. It may
// be called from several goroutines, and concurrently with the other methods of
// the sink. While it waits, the timeouts of the run are paused. An error means
// that there will be no answer, because the run has ended or the request cannot
// be recorded; the call must then not be made.
type Permitter interface {
	Permit(ctx context.Context, req PermissionRequest) (PermissionAnswer, error)
}

// CanAsk reports whether the sink can ask people.
func (r *Run) CanAsk() bool {
	_, ok := r.sink.(Permitter)
	return ok
}

// Permit asks people through the sink, with the timeouts of the run paused. It
// returns an error if the sink cannot ask.
func (r *Run) Permit(ctx context.Context, req PermissionRequest) (a PermissionAnswer, err error) {
	p, ok := r.sink.(Permitter)
	if !ok {
		return a, errors.New("permissions cannot be requested here")
	}
	r.clock.pause(func() { a, err = p.Permit(ctx, req) })
	return a, err
}
