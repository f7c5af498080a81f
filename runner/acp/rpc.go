package acp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"

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
func (t *talk) send(m message) {
	m.Version = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		t.Stop(supervise.Failed(task.PhaseProtocol, "A message to the agent could not be written: "+err.Error()))
		return
	}
	if !t.Send(append(b, '\n')) {
		t.Stop(supervise.Failed(task.PhaseProtocol, "It does not read its input"))
	}
}

// request sends a request; next receives its result. There is one request at a
// time.
func (t *talk) request(method string, params any, next func(json.RawMessage)) {
	t.step++
	t.next, t.onError = next, t.handleError
	t.send(message{ID: fmt.Append(nil, t.step), Method: method, Params: params})
}

// decode parses a result. If that fails, the conversation ends.
func (t *talk) decode(raw json.RawMessage, v any) bool {
	if err := json.Unmarshal(raw, v); err != nil {
		t.fail(supervise.Failed(task.PhaseProtocol, "Its answer cannot be read: "+err.Error()))
		return false
	}
	return true
}

// fail ends the conversation with an outcome.
func (t *talk) fail(o supervise.Outcome) {
	t.flush(false)
	t.failed = &o
	t.next = nil
	t.finish()
}

// handleError handles an error response in the usual way.
func (t *talk) handleError(e *acp.RequestError) {
	text := e.Message
	if detail, err := json.Marshal(e.Data); err == nil && e.Data != nil {
		text += " " + string(detail)
	}
	switch {
	case e.Code == authRequired || supervise.IsCredentialError(text):
		t.fail(supervise.RefusedCredentials(text))
	default:
		t.fail(supervise.Failed(task.PhaseError, fmt.Sprintf("It answered with error %d: %s", e.Code, text)))
	}
}

// line handles one line from the agent.
func (t *talk) line(kind supervise.LineKind, b []byte) {
	var m struct {
		ID     json.RawMessage   `json:"id"`
		Method string            `json:"method"`
		Params json.RawMessage   `json:"params"`
		Result json.RawMessage   `json:"result"`
		Error  *acp.RequestError `json:"error"`
	}
	if kind != supervise.WholeLine || !supervise.IsObject(b) || json.Unmarshal(b, &m) != nil {
		if kind != supervise.WholeLine || strings.TrimSpace(string(b)) != "" {
			t.LogLine(kind, b)
		}
		return
	}
	pending := len(m.ID) > 0 && string(m.ID) != "null"
	switch {
	case m.Method == acp.ClientMethodSessionUpdate && !pending:
		t.update(m.Params, b)
	case m.Method == acp.ClientMethodSessionRequestPermission && pending:
		t.permission(m.ID, m.Params, b)
	case m.Method != "" && pending:
		t.send(message{ID: m.ID, Error: acp.NewMethodNotFound(m.Method)})
	case m.Method == "" && pending && string(m.ID) == fmt.Sprint(t.step) && t.next != nil:
		t.answer(m.Result, m.Error)
	}
}

func (t *talk) answer(result json.RawMessage, e *acp.RequestError) {
	next := t.next
	t.next = nil
	if e != nil {
		t.onError(e)
		return
	}
	next(result)
}

// servers returns our MCP server in the form that the agent supports. The token
// is sent through the pipe and is not on any command line.
func (t *talk) servers(can acp.McpCapabilities) []acp.McpServer {
	url := strings.TrimSuffix(t.Spec.URL, "/")
	switch {
	case url == "":
	case can.Http:
		return []acp.McpServer{{Http: &acp.McpServerHttpInline{
			Type: "http", Name: "taskyard", Url: url + "/mcp?content=text",
			Headers: []acp.HttpHeader{{Name: "Authorization", Value: "Bearer " + t.Spec.Token}},
		}}}
	case len(t.bridge) > 0:
		return []acp.McpServer{{Stdio: &acp.McpServerStdio{
			Name: "taskyard", Command: t.bridge[0], Args: append([]string{}, t.bridge[1:]...),
			Env: []acp.EnvVariable{{Name: "TASKYARD_URL", Value: url}, {Name: "TASKYARD_TOKEN", Value: t.Spec.Token}},
		}}}
	default:
		t.Note("The agent cannot reach an MCP server over HTTP, so it has no tools of Taskyard.")
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
