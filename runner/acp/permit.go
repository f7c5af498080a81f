package acp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"taskyard/internal/lazyregexp"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// decision is a person's answer to a permission request, which the pump
// reports.
type decision struct {
	text    string
	allowed bool
}

// needs lists, for each kind of call, the tools of which at least one must be
// listed.
var needs = map[acp.ToolKind][]string{
	acp.ToolKindRead:    {"read", "bash"},
	acp.ToolKindSearch:  {"grep", "glob", "list", "bash"},
	acp.ToolKindEdit:    {"edit", "create", "bash"},
	acp.ToolKindDelete:  {"bash"},
	acp.ToolKindMove:    {"bash"},
	acp.ToolKindExecute: {"bash"},
	acp.ToolKindFetch:   {"fetch"},
}

// ourTool matches the titles that agents give to the tools of our MCP server,
// which does its own authorization.
var ourTool = lazyregexp.New(`^(mcp__taskyard__|taskyard[_./: ])\w+$|^\w+ \(taskyard MCP Server\)`)

// maxAsked bounds the pending permission requests of a run.
const maxAsked = 20

// maxDenial bounds the part of a failure reason that describes a denied call,
// in bytes.
const maxDenial = 500

// permission answers an agent that asks before a call: calls of listed tools
// are allowed, calls of other known tools are denied, and unknown calls are
// left to people.
func (conn *connection) permission(id, params json.RawMessage, line []byte) {
	var r acp.RequestPermissionRequest
	if json.Unmarshal(params, &r) != nil {
		conn.send(message{ID: id, Error: acp.NewInvalidParams(nil)})
		return
	}
	conn.flush(false)
	c := conn.ensureTool(r.ToolCall.ToolCallId)
	input := callInput(&r.ToolCall)
	c.learn(r.ToolCall.Title, r.ToolCall.Kind, input)
	if input == nil {
		input = c.input // as reported before
	}
	conn.reportCall(c, line)
	title, kind := c.title, c.kind
	need, known := needs[kind]
	listed := slices.ContainsFunc(need, func(tool string) bool { return slices.Contains(conn.Spec.Plan.Tools, tool) })
	switch {
	case listed || kind == acp.ToolKindThink || !known && ourTool().MatchString(title):
		conn.decide(id, &r, true)
	case known:
		conn.deny(title+". The agent "+conn.Spec.Plan.Agent+" may use "+strings.Join(conn.Spec.Plan.Tools, ", ")+".",
			map[string]any{"kind": kind, "allowed": false}, line)
		conn.decide(id, &r, false)
	default:
		conn.askPeople(id, &r, title, input, line)
	}
}

// callInput returns the input of a call. Gemini CLI sends the input of MCP
// tools as text.
func callInput(c *acp.ToolCallUpdate) any {
	if c.RawInput == nil {
		var input map[string]any
		if json.Unmarshal([]byte(contentText(c.Content)), &input) == nil {
			return input
		}
	}
	return c.RawInput
}

// deny reports a denied call, which may become the reason of a failure.
func (conn *connection) deny(what string, data map[string]any, line []byte) {
	conn.denied = task.CutText(what, maxDenial)
	conn.Event(supervise.EventPermission, "Denied: "+what, data, line)
}

// askPeople asks in a goroutine, so that the pump keeps reading.
func (conn *connection) askPeople(id json.RawMessage, r *acp.RequestPermissionRequest, title string, args any, line []byte) {
	input, err := json.Marshal(args)
	if err != nil || len(input) > task.MaxPermissionInput || conn.waiting >= maxAsked {
		conn.deny(title+" cannot be shown to people, or too many calls wait for them.", map[string]any{"allowed": false}, line)
		conn.decide(id, r, false)
		return
	}
	conn.waiting++
	tool := conn.Clean(cmp.Or(task.CutText(title, task.MaxPermissionTool), "a tool without a name"))
	req := supervise.PermissionRequest{Tool: task.CutText(tool, task.MaxPermissionTool), Input: conn.CleanJSON(input)}
	conn.permits.Go(func() {
		a, err := conn.Permit(conn.asking, req)
		d := decision{text: "Allowed by a person: " + tool, allowed: true}
		if err != nil {
			d = decision{text: "nobody can be asked about " + tool}
		} else if !a.Allow {
			d = decision{text: tool + ". " + a.Message}
		}
		conn.mu.Lock()
		conn.decided = append(conn.decided, d)
		conn.mu.Unlock()
		conn.decide(id, r, d.allowed)
	})
}

// reportDecisions reports the decisions that people have made in the meantime.
func (conn *connection) reportDecisions() {
	conn.mu.Lock()
	list := conn.decided
	conn.decided = nil
	conn.mu.Unlock()
	for _, d := range list {
		conn.waiting--
		if !d.allowed {
			conn.deny(d.text, map[string]any{"allowed": false}, nil)
			continue
		}
		conn.Event(supervise.EventPermission, d.text, map[string]any{"allowed": true}, nil)
	}
}

// decide answers with the narrowest matching option. If the agent offers no way
// to deny, the call is canceled.
func (conn *connection) decide(id json.RawMessage, r *acp.RequestPermissionRequest, allow bool) {
	kinds := []acp.PermissionOptionKind{acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways}
	if allow {
		kinds = []acp.PermissionOptionKind{acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways}
	}
	answer := acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}
	for _, kind := range slices.Backward(kinds) {
		for _, o := range r.Options {
			if o.Kind == kind {
				answer.Outcome = acp.NewRequestPermissionOutcomeSelected(o.OptionId)
			}
		}
	}
	if conn.asking.Err() != nil {
		answer.Outcome = acp.NewRequestPermissionOutcomeCancelled()
	}
	conn.send(message{ID: id, Result: answer})
}
