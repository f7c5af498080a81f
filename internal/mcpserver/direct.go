package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/task"
)

// serveDirect handles the call of a known tool without the SDK, which would create a
// session for it: five times the work of the claim itself, and a third of a
// megabyte of garbage. It handles only plain requests, and leaves everything
// else, including all protocol errors, to the SDK.
func (h *handler) serveDirect(w http.ResponseWriter, r *http.Request, body []byte) bool {
	if !isPlainRequest(r) {
		return false
	}
	c, ok := plainCall(body)
	if !ok || !c.fits(r.Header) {
		return false
	}
	t, ok := h.offered(r, c.name)
	if !ok {
		return false
	}
	res := h.perform(r.Context(), t, c.arguments)
	end := "}"
	if r.Header.Get(headerVersion) == newProtocol {
		res.Meta, end = mcp.Meta{mcp.MetaKeyServerInfo: h.self}, `,"resultType":"complete"}}`
	}
	result, err := json.Marshal(res)
	if err != nil { // the SDK must not repeat it
		h.log.Error("failed to encode the result", "tool", t.name, "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return true
	}
	if end != "}" {
		result = bytes.TrimSuffix(result, []byte("}"))
	}
	w.Header().Set("Content-Type", "application/json")
	answer := bytes.Join([][]byte{[]byte(`{"jsonrpc":"2.0","id":`), c.id, []byte(`,"result":`), result, []byte(end)}, nil)
	_, _ = w.Write(answer) // the caller may have disconnected
	return true
}

// offered finds a tool among those offered to the caller.
func (h *handler) offered(r *http.Request, name string) (tool, bool) {
	p := profileIn(r)
	t, ok := byName[name]
	if !ok || p == profileCore && !t.core || !h.lists(t) || h.svc.CheckUsesTasks(task.ActorFromContext(r.Context())) != nil {
		return tool{}, false
	}
	return t, true
}
