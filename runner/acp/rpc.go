package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"

	"taskyard/internal/lazyregexp"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// authRequired is the error code of an agent that is not signed in.
const authRequired = -32000

// message is an outgoing request, notification or response.
type message struct {
	Version string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id,omitempty"`
	Method  string            `json:"method,omitempty"`
	Params  any               `json:"params,omitempty"`
	Result  any               `json:"result,omitempty"`
	Error   *acp.RequestError `json:"error,omitempty"`
}

// send queues a message. It stops an agent that does not read its input.
func (conn *connection) send(m message) {
	m.Version = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		conn.Stop(supervise.Failed(task.PhaseProtocol, "A message to the agent could not be written: "+err.Error()))
		return
	}
	if !conn.Send(append(b, '\n')) {
		conn.Stop(supervise.Failed(task.PhaseProtocol, "It does not read its input"))
	}
}

// request sends a request; next receives its result. There is one request at a
// time.
func (conn *connection) request(method string, params any, next func(json.RawMessage)) {
	conn.step++
	conn.next, conn.onError = next, conn.handleError
	conn.send(message{ID: fmt.Append(nil, conn.step), Method: method, Params: params})
}

// decode parses a result. If that fails, the conversation ends.
func (conn *connection) decode(raw json.RawMessage, v any) bool {
	if err := json.Unmarshal(raw, v); err != nil {
		conn.fail(supervise.Failed(task.PhaseProtocol, "Its answer cannot be read: "+err.Error()))
		return false
	}
	return true
}

// fail ends the conversation with an outcome.
func (conn *connection) fail(o supervise.Outcome) {
	conn.flush(false)
	conn.failed = &o
	conn.next = nil
	conn.finish()
}

// handleError handles an error response in the usual way.
func (conn *connection) handleError(e *acp.RequestError) {
	text := e.Message
	if detail, err := json.Marshal(e.Data); err == nil && e.Data != nil {
		text += " " + string(detail)
	}
	switch {
	case e.Code == authRequired || supervise.IsCredentialError(text):
		conn.fail(supervise.RefusedCredentials(text))
	default:
		conn.fail(supervise.Failed(task.PhaseError, fmt.Sprintf("It answered with error %d: %s", e.Code, text)))
	}
}

// longRequest finds the ID in a request that is too long to be parsed.
var longRequest = lazyregexp.New(`^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*("[^"\\]{1,100}"|\d{1,18})\s*,\s*"method"\s*:`)

// refuseLong answers a request that is too long to be parsed, such as one for a
// permission: the agent would wait for the answer forever.
func (conn *connection) refuseLong(b []byte) {
	if id := longRequest().FindSubmatch(b); id != nil {
		conn.deny("a call whose arguments are too long to be looked at.", map[string]any{"allowed": false}, nil)
		conn.send(message{ID: bytes.Clone(id[1]), Error: acp.NewInvalidParams("the request is longer than 1 MiB")})
	}
}

// line handles one line from the agent.
func (conn *connection) line(kind supervise.LineKind, b []byte) {
	var m struct {
		ID     json.RawMessage   `json:"id"`
		Method string            `json:"method"`
		Params json.RawMessage   `json:"params"`
		Result json.RawMessage   `json:"result"`
		Error  *acp.RequestError `json:"error"`
	}
	if kind != supervise.WholeLine || !supervise.IsObject(b) || json.Unmarshal(b, &m) != nil {
		if kind != supervise.WholeLine || strings.TrimSpace(string(b)) != "" {
			conn.LogLine(kind, b)
		}
		if kind == supervise.LongLine {
			conn.refuseLong(b)
		}
		return
	}
	pending := len(m.ID) > 0 && string(m.ID) != "null"
	switch {
	case m.Method == acp.ClientMethodSessionUpdate && !pending:
		conn.update(m.Params, b)
	case m.Method == acp.ClientMethodSessionRequestPermission && pending:
		conn.permission(m.ID, m.Params, b)
	case m.Method != "" && pending:
		conn.send(message{ID: m.ID, Error: acp.NewMethodNotFound(m.Method)})
	case m.Method == "" && pending && string(m.ID) == fmt.Sprint(conn.step) && conn.next != nil:
		conn.answer(m.Result, m.Error)
	}
}

func (conn *connection) answer(result json.RawMessage, e *acp.RequestError) {
	next := conn.next
	conn.next = nil
	if e != nil {
		conn.onError(e)
		return
	}
	next(result)
}

// servers returns our MCP server in the form that the agent supports. The token
// is sent through the pipe and is not on any command line.
func (conn *connection) servers(can acp.McpCapabilities) []acp.McpServer {
	url := strings.TrimSuffix(conn.Spec.URL, "/")
	switch {
	case url == "":
	case can.Http:
		return []acp.McpServer{{Http: &acp.McpServerHttpInline{
			Type: "http", Name: "taskyard", Url: url + "/mcp?content=text",
			Headers: []acp.HttpHeader{{Name: "Authorization", Value: "Bearer " + conn.Spec.Token}},
		}}}
	case len(conn.bridge) > 0:
		return []acp.McpServer{{Stdio: &acp.McpServerStdio{
			Name: "taskyard", Command: conn.bridge[0], Args: append([]string{}, conn.bridge[1:]...),
			Env: []acp.EnvVariable{{Name: "TASKYARD_URL", Value: url}, {Name: "TASKYARD_TOKEN", Value: conn.Spec.Token}},
		}}}
	default:
		conn.Note("The agent cannot reach an MCP server over HTTP, so it has no tools of Taskyard.")
	}
	return []acp.McpServer{}
}

// keyMethod returns the sign-in method that uses a key from the environment.
// All others need a person.
func keyMethod(list []acp.AuthMethod) string {
	for _, m := range list {
		switch {
		case m.EnvVar != nil:
			return m.EnvVar.Id
		case m.Agent != nil && strings.Contains(strings.ToLower(m.Agent.Id), "api-key"):
			return m.Agent.Id
		}
	}
	return ""
}
