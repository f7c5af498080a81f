package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/service"
	"taskyard/task"
)

// tool is one tool: its description for agents, and its implementation.
type tool struct {
	name    string
	doc     string // one line, because it costs tokens in every session
	core    bool   // part of the profile core
	reads   bool   // changes nothing
	args    []arg
	changes bool   // its answer is short, unless fullAnswer is set
	fails   string // prefix of the message of a failure
	as      string // the argument that names the acting agent, see call.who
	run     func(*call) (answer, error)

	delegates  bool // not listed if nobody may delegate
	destroys   bool // deletes or ends something irreversibly
	idempotent bool // repeating a call with the same arguments changes nothing
}

// call is a tool call with its validated arguments.
type call struct {
	values
	tool    string
	ctx     context.Context
	svc     *service.Service
	actor   task.Actor
	agentID string // the agent that a tool acts for
}

// answer is the success of a call; with an error it is ignored. line is the
// text before the JSON, structured the JSON content, body what the text shows,
// nil: the same.
type answer struct {
	line       string
	structured any
	body       any
	compact    bool // no indentation, which makes long lists cheaper
}

// tools are all tools, in the order of the documentation.
var tools = concat(queueTools, taskTools, stepTools, threadTools, delegateTools, todoTools)

// byName maps names to tools.
var byName = func() map[string]tool {
	m := make(map[string]tool, len(tools))
	for _, t := range tools {
		m[t.name] = t
	}
	return m
}()

func concat(lists ...[]tool) []tool {
	var all []tool
	for _, t := range slices.Concat(lists...) {
		if t.changes {
			t.args = append(slices.Clone(t.args), fullAnswer)
		}
		all = append(all, t)
	}
	return all
}

// declared returns the declaration of the tool in tools/list. Claude Code finds
// most tools by a search, but loads those at once that request it.
func (t tool) declared(p profile) *mcp.Tool {
	d := &mcp.Tool{Name: t.name, Description: t.doc, InputSchema: argsSchema(t.args), Annotations: t.hints()}
	if t.core && p == profileFull { // the short profile is short enough
		d.Meta = mcp.Meta{"anthropic/alwaysLoad": true}
	}
	return d
}

// hints returns the annotations of the tool. Clients without a person to ask,
// such as codex exec, reject a tool that writes unless both other hints are
// false. For tools that only read, the specification defines neither.
func (t tool) hints() *mcp.ToolAnnotations {
	if t.reads {
		return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}
	}
	openWorld := false
	return &mcp.ToolAnnotations{DestructiveHint: &t.destroys, IdempotentHint: t.idempotent, OpenWorldHint: &openWorld}
}

// toolHandler returns the SDK handler for a tool.
func (h *handler) toolHandler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return h.perform(ctx, t, req.Params.Arguments), nil
	}
}

// perform validates the arguments, runs the tool, and converts every outcome to
// a result, including a panic, which would otherwise end the whole server,
// because the SDK runs tools in its own goroutines.
func (h *handler) perform(ctx context.Context, t tool, arguments json.RawMessage) (res *mcp.CallToolResult) {
	ctx, done := withCaller(ctx)
	defer done()
	defer func() {
		if p := recover(); p != nil {
			res = h.failure(t, nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
		if only, _ := ctx.Value(textOnlyKey{}).(bool); only {
			res.StructuredContent = nil
		}
	}()
	actor := task.ActorFromContext(ctx)
	v, err := h.decode(ctx, t, actor, arguments)
	if err != nil {
		return h.failure(t, nil, err)
	}
	c, a := &call{values: v, tool: t.name, ctx: ctx, svc: h.svc, actor: actor}, answer{}
	if t.as != "" {
		c.agentID, err = c.agent(t.as)
	}
	if err == nil {
		a, err = t.run(c)
	}
	if err == nil {
		res, err = a.result()
	}
	if err != nil {
		h.svc.Refused(ctx, actor, "tool "+t.name, err)
		return h.failure(t, t.args, err)
	}
	return res
}

// decode decodes the arguments of a call. With the token of a run, the task
// defaults to its own, except if the tool is destructive.
func (h *handler) decode(ctx context.Context, t tool, actor task.Actor, arguments json.RawMessage) (values, error) {
	own := slices.IndexFunc(t.args, func(a arg) bool { return a.required && a.kind == isID && camel(a.name) == "taskId" })
	self := ""
	if actor.IsAgent() {
		self = actor.Name
	}
	if actor.RunID == 0 || own < 0 || t.destroys {
		return decode(t.args, arguments, self)
	}
	args := slices.Clone(t.args)
	args[own].required = false
	v, err := decode(args, arguments, self)
	if err != nil || v.has(args[own].name) {
		return v, err
	}
	r, err := h.svc.Run(ctx, actor, actor.RunID)
	if err != nil {
		return nil, err
	}
	v[args[own].name] = r.TaskID
	return v, nil
}

// agent returns the agent that an argument names, by default the caller, if the
// caller may act for it.
func (c *call) agent(name string) (string, error) {
	agent := c.text(name)
	if agent == "" && c.actor.IsAgent() {
		agent = c.actor.Name
	}
	if agent == "" {
		return "", task.FieldErrorf(name, "is required: you are a person, so name an agent")
	}
	return agent, c.actor.CheckActsAs(agent)
}
