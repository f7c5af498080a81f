package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"taskyard/task"
)

// waitKey names a waiting call as its client does. Two clients with one token
// may choose the same: then both stop waiting, which costs one of them a call.
type waitKey struct {
	token task.ID
	call  jsonrpc.ID
}

// waits are the calls that may be waiting now, so that a notification, which
// comes in a request of its own, can end them. The zero value is ready.
type waits struct {
	open sync.Map // waitKeys, by what ends the request
}

const cancelled = "notifications/cancelled"

// note looks whether a body may wait or takes a wait back, and does its part.
// forget must be called when the request ends.
func (w *waits) note(a task.Actor, body []byte, hangUp context.CancelFunc) (forget func()) {
	takesBack := bytes.Contains(body, []byte(cancelled))
	if !takesBack && !bytes.Contains(body, []byte("wait")) {
		return func() {}
	}
	msg, err := jsonrpc.DecodeMessage(body)
	req, ok := msg.(*jsonrpc.Request)
	switch {
	case err != nil || !ok: // the SDK answers the caller
	case req.IsCall():
		w.open.Store(&hangUp, waitKey{a.TokenID, req.ID})
		return func() { w.open.Delete(&hangUp) }
	case takesBack && req.Method == cancelled:
		w.cancel(a, req)
	}
	return func() {}
}

// canceledCall returns which call a notification cancels.
func canceledCall(notification *jsonrpc.Request) (jsonrpc.ID, error) {
	var p struct {
		RequestID any `json:"requestId"`
	}
	if err := json.Unmarshal(notification.Params, &p); err != nil {
		return jsonrpc.ID{}, err
	}
	return jsonrpc.MakeID(p.RequestID)
}

func (w *waits) cancel(a task.Actor, req *jsonrpc.Request) {
	id, err := canceledCall(req)
	if err != nil {
		return
	}
	w.open.Range(func(hangUp, k any) bool {
		if k == (waitKey{a.TokenID, id}) {
			(*hangUp.(*context.CancelFunc))()
		}
		return true
	})
}
