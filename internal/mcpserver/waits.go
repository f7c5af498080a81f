package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"taskyard/task"
)

// waitKey identifies a waiting call as its client does. If two clients with one
// token choose the same ID, both stop waiting, which costs one of them a call.
type waitKey struct {
	token task.ID
	call  jsonrpc.ID
}

// waits are the calls that may be waiting, so that a notification, which is a
// separate request, can end them. The zero value is ready to use.
type waits struct {
	open sync.Map // waitKeys to the functions that end the requests
}

const cancelled = "notifications/cancelled"

// note registers a body that may wait, or handles one that cancels a wait.
// forget must be called when the request ends.
func (w *waits) note(a task.Actor, body []byte, disconnect context.CancelFunc) (forget func()) {
	takesBack := bytes.Contains(body, []byte(cancelled))
	if !takesBack && !bytes.Contains(body, []byte("wait")) {
		return func() {}
	}
	msg, err := jsonrpc.DecodeMessage(body)
	req, ok := msg.(*jsonrpc.Request)
	switch {
	case err != nil || !ok: // the SDK answers the caller
	case req.IsCall():
		w.open.Store(&disconnect, waitKey{a.TokenID, req.ID})
		return func() { w.open.Delete(&disconnect) }
	case takesBack && req.Method == cancelled:
		w.cancel(a, req)
	}
	return func() {}
}

// canceledCall returns the ID of the call that a notification cancels.
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
	w.open.Range(func(disconnect, k any) bool {
		if k == (waitKey{a.TokenID, id}) {
			(*disconnect.(*context.CancelFunc))()
		}
		return true
	})
}
