package mcpserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newProtocol is the version in which each call names its client, in headers
// and in _meta, and each answer its server.
const newProtocol = "2026-07-28"

const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	toolsCall     = "tools/call"
)

// isPlainRequest reports whether the headers are those of a client that accepts both
// kinds of answers, with a version that the SDK also supports.
func isPlainRequest(r *http.Request) bool {
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || len(r.Header.Values("Last-Event-ID")) > 0 {
		return false
	}
	accept := strings.Split(r.Header.Get("Accept"), ",")
	for i := range accept {
		accept[i] = strings.TrimSpace(accept[i])
	}
	if !slices.Contains(accept, "application/json") || !slices.Contains(accept, "text/event-stream") {
		return false
	}
	v := r.Header.Get(headerVersion)
	return v == "" || v <= newProtocol && slices.Contains(versions, v)
}

var versions = mcp.SupportedProtocolVersions()

// rpcCall is a tool call. id, name and arguments are unchanged.
type rpcCall struct {
	id        jsontext.Value
	name      string
	arguments json.RawMessage
	meta      []field
}

// plainCall parses one tools/call with an ID and only known fields.
func plainCall(body []byte) (c rpcCall, ok bool) {
	if depth, numbers := scan(body); depth > maxDepth || !numbers {
		return c, false
	}
	top, err := fields(body)
	if err != nil {
		return c, false
	}
	seen, params := 0, jsontext.Value(nil)
	for _, f := range top {
		switch {
		case f.name == "jsonrpc" && string(f.value) == `"2.0"`, f.name == "method" && string(f.value) == `"`+toolsCall+`"`:
			seen++
		case f.name == "id" && plainID(f.value):
			c.id = f.value
		case f.name == "params" && f.value.Kind() == '{':
			params = f.value
		default:
			return c, false
		}
	}
	if seen != 2 || c.id == nil || params == nil {
		return c, false
	}
	return c, c.read(params)
}

// plainID reports whether an ID is a string, or a number that can be returned
// unchanged.
func plainID(raw jsontext.Value) bool {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return raw.Kind() == '"' || err == nil && strconv.FormatInt(n, 10) == string(raw)
}

// read parses the parameters of a call.
func (c *rpcCall) read(params jsontext.Value) bool {
	inner, err := fields(json.RawMessage(params))
	if err != nil {
		return false
	}
	for _, f := range inner {
		switch {
		case f.name == "name" && f.value.Kind() == '"':
			c.name = unquote(f.value)
		case f.name == "arguments":
			c.arguments = json.RawMessage(f.value)
		case f.name == "_meta" && f.value.Kind() == '{':
			if c.meta, err = fields(json.RawMessage(f.value)); err != nil {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// fits reports whether a call has the form that its version requires. Before
// the new protocol, a call names no version, and its metadata is ignored.
func (c *rpcCall) fits(h http.Header) bool {
	fresh := h.Get(headerVersion) == newProtocol
	named, able := false, false
	for _, f := range c.meta {
		switch f.name {
		case mcp.MetaKeyProtocolVersion:
			named = f.value.Kind() == '"' && unquote(f.value) == newProtocol
			if !fresh || !named {
				return false
			}
		case mcp.MetaKeyClientCapabilities:
			able = f.value.Kind() == '{' && json.Unmarshal(f.value, &mcp.ClientCapabilities{}) == nil
		case mcp.MetaKeyClientInfo:
			if fresh && (f.value.Kind() != '{' || json.Unmarshal(f.value, &mcp.Implementation{}) != nil) {
				return false
			}
		}
	}
	return !fresh || named && able && h.Get(headerMethod) == toolsCall && h.Get(headerName) == c.name
}
