package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"taskyard/task"
)

const (
	maxBody  = 1 << 20          // bytes of a request
	maxBatch = 20               // messages of a batch, which old protocol versions allow
	longest  = 80 * time.Second // a request with the longest wait, and its answer
)

// requestKey is the key of a context that ends when the caller disconnects.
type requestKey struct{}

// textOnlyKey is the key of whether the caller wants answers without structured
// content. Some clients pass both forms to their model, which costs twice the
// tokens.
type textOnlyKey struct{}

// ServeHTTP handles one request. It reads the body, extends the deadlines for
// long waits, and notifies the tools when the caller disconnects.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := profileIn(r); p != profileFull && p != profileCore {
		http.Error(w, "unknown profile: ask for profile=all, the default, or profile=core", http.StatusBadRequest)
		return
	}
	textOnly := r.URL.Query().Get("content") == "text"
	if !textOnly && r.URL.Query().Has("content") {
		http.Error(w, "unknown content: leave it out for both forms of an answer, or ask for content=text", http.StatusBadRequest)
		return
	}
	h.svc.ReachedMCP(r.Context(), task.ActorFromContext(r.Context()))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		http.Error(w, "the body is over 1 MiB: send less", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the body could not be read to its end", http.StatusBadRequest)
		return
	case exceedsBatch(body):
		http.Error(w, "send at most 20 messages at once", http.StatusBadRequest)
		return
	}
	rc := http.NewResponseController(w)
	end := time.Now().Add(longest)
	// If a deadline cannot be changed, as in tests without a network, there is
	// none.
	_, _ = rc.SetWriteDeadline(end), rc.SetReadDeadline(end)

	// New clients may listen forever, but nothing will be sent.
	ctx, cancel := context.WithDeadline(r.Context(), end)
	defer cancel()
	// The SDK lets handlers keep running when an old client disconnects, and
	// ignores a cancellation by a later request; a wait must end in both cases.
	disconnected, disconnect := context.WithCancel(ctx)
	defer disconnect()
	defer h.waits.note(task.ActorFromContext(ctx), body, disconnect)()
	ctx = context.WithValue(task.WithBudget(ctx, answerBytes), requestKey{}, disconnected)
	r = r.WithContext(context.WithValue(ctx, textOnlyKey{}, textOnly))
	if h.serveDirect(w, r, body) {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := &refusals{ResponseWriter: w}
	defer answer.end(body)
	h.http.ServeHTTP(answer, r)
}

// withCaller returns a context that ends with the tool call, and when its
// caller disconnects or cancels it.
func withCaller(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	r, ok := ctx.Value(requestKey{}).(context.Context)
	if !ok {
		return ctx, cancel
	}
	stop := context.AfterFunc(r, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// exceedsBatch reports whether a body contains too many messages. The SDK
// handles bodies that are not a list, or not JSON.
func exceedsBatch(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 || body[0] != '[' {
		return false
	}
	var list []json.RawMessage
	return json.Unmarshal(body, &list) == nil && len(list) > maxBatch
}
