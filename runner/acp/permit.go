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
func (t *talk) permission(id, params json.RawMessage, line []byte) {
	var r acp.RequestPermissionRequest
	if json.Unmarshal(params, &r) != nil {
		t.send(message{ID: id, Error: acp.NewInvalidParams(nil)})
		return
	}
	t.flush(false)
	c := t.ensureTool(r.ToolCall.ToolCallId)
	input := callInput(&r.ToolCall)
	c.learn(r.ToolCall.Title, r.ToolCall.Kind, input)
	if input == nil {
		input = c.input // as reported before
	}
	t.reportCall(c, line)
	title, kind := c.title, c.kind
	need, known := needs[kind]
	listed := slices.ContainsFunc(need, func(tool string) bool { return slices.Contains(t.Spec.Plan.Tools, tool) })
	switch {
	case listed || kind == acp.ToolKindThink || !known && ourTool().MatchString(title):
		t.decide(id, &r, true)
	case known:
		t.deny(title+". The agent "+t.Spec.Plan.Agent+" may use "+strings.Join(t.Spec.Plan.Tools, ", ")+".",
			map[string]any{"kind": kind, "allowed": false}, line)
		t.decide(id, &r, false)
	default:
		t.askPeople(id, &r, title, input, line)
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
func (t *talk) deny(what string, data map[string]any, line []byte) {
	t.denied = task.CutText(what, maxDenial)
	t.Event(supervise.EventPermission, "Denied: "+what, data, line)
}

// askPeople asks in a goroutine, so that the pump keeps reading.
func (t *talk) askPeople(id json.RawMessage, r *acp.RequestPermissionRequest, title string, args any, line []byte) {
	input, err := json.Marshal(args)
	if err != nil || len(input) > task.MaxPermissionInput || t.waiting >= maxAsked {
		t.deny(title+" cannot be shown to people, or too many calls wait for them.", map[string]any{"allowed": false}, line)
		t.decide(id, r, false)
		return
	}
	t.waiting++
	tool := t.Clean(cmp.Or(task.CutText(title, task.MaxPermissionTool), "a tool without a name"))
	req := supervise.PermissionRequest{Tool: task.CutText(tool, task.MaxPermissionTool), Input: t.CleanJSON(input)}
	t.permits.Go(func() {
		a, err := t.Permit(t.asking, req)
		d := decision{text: "Allowed by a person: " + tool, allowed: true}
		if err != nil {
			d = decision{text: "nobody can be asked about " + tool}
		} else if !a.Allow {
			d = decision{text: tool + ". " + a.Message}
		}
		t.mu.Lock()
		t.decided = append(t.decided, d)
		t.mu.Unlock()
		t.decide(id, r, d.allowed)
	})
}

// reportDecisions reports the decisions that people have made in the meantime.
func (t *talk) reportDecisions() {
	t.mu.Lock()
	list := t.decided
	t.decided = nil
	t.mu.Unlock()
	for _, d := range list {
		t.waiting--
		if !d.allowed {
			t.deny(d.text, map[string]any{"allowed": false}, nil)
			continue
		}
		t.Event(supervise.EventPermission, d.text, map[string]any{"allowed": true}, nil)
	}
}

// decide answers with the narrowest matching option. If the agent offers no way
// to deny, the call is canceled.
func (t *talk) decide(id json.RawMessage, r *acp.RequestPermissionRequest, allow bool) {
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
	if t.asking.Err() != nil {
		answer.Outcome = acp.NewRequestPermissionOutcomeCancelled()
	}
	t.send(message{ID: id, Result: answer})
}
