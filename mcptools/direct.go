package mcptools

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/task"
)

// newProtocol is the first version in which a tool call says more than its
// name and arguments, and its answer too: the SDK serves these.
const newProtocol = "2026-07-28"

// direct answers the call of a known tool without the SDK, which would make a
// session of its own for it: five times the work of the claim itself, and a
// third of a megabyte for the collector. It takes what is plain, and leaves
// everything else, and with it every refusal of the protocol, to the SDK.
func (y *yard) direct(w http.ResponseWriter, r *http.Request, body []byte) bool {
	if !plain(r) {
		return false
	}
	c, ok := plainCall(body)
	if !ok {
		return false
	}
	t, ok := y.offered(r, c.name)
	if !ok {
		return false
	}
	result, err := json.Marshal(y.perform(r.Context(), t, c.arguments))
	if err != nil {
		y.log.Error("result not encoded", "tool", t.name, "error", err)
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.Write(c.id)
	b.WriteString(`,"result":`)
	b.Write(result)
	b.WriteString("}")
	_, _ = w.Write([]byte(b.String())) // a caller that is gone hears nothing
	return true
}

// plain tells whether the headers are those of a client that takes both kinds
// of answers, of a version that the SDK knows and that is not new.
func plain(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
		!strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream") || r.Header.Get("Last-Event-ID") != "" {
		return false
	}
	v := r.Header.Get("Mcp-Protocol-Version")
	return v == "" || v < newProtocol && known[v]
}

var known = func() map[string]bool {
	m := map[string]bool{}
	for _, v := range mcp.SupportedProtocolVersions() {
		m[v] = true
	}
	return m
}()

// offered finds a tool among those that the caller is offered.
func (y *yard) offered(r *http.Request, name string) (tool, bool) {
	p := profile(r.URL.Query().Get("profile"))
	t, ok := byName[name]
	if !ok || p == profileCore && !t.core || !y.svc.UsesTasks(task.ActorIn(r.Context())) {
		return tool{}, false
	}
	return t, true
}

type rpcCall struct {
	id        jsontext.Value
	name      string
	arguments json.RawMessage
}

// plainCall reads one tools/call with an id, and nothing that it does not know.
func plainCall(body []byte) (c rpcCall, ok bool) {
	var params jsontext.Value
	top, err := fields(body)
	if err != nil {
		return c, false
	}
	seen := 0
	for _, f := range top {
		switch kind := f.value.Kind(); {
		case f.name == "jsonrpc" && string(f.value) == `"2.0"`, f.name == "method" && string(f.value) == `"tools/call"`:
			seen++
		case f.name == "id" && (kind == '"' || kind == '0'):
			c.id = f.value
		case f.name == "params" && kind == '{':
			params = f.value
		default:
			return c, false
		}
	}
	if seen != 2 || c.id == nil || params == nil {
		return c, false
	}
	inner, err := fields(json.RawMessage(params))
	if err != nil {
		return c, false
	}
	for _, f := range inner {
		switch {
		case f.name == "name" && f.value.Kind() == '"':
			c.name = textOf(f.value)
		case f.name == "arguments":
			c.arguments = json.RawMessage(f.value)
		case f.name == "_meta" && !strings.Contains(string(f.value), "protocolVersion"): // a progress token: nothing is told of progress
		default:
			return c, false
		}
	}
	return c, true
}
