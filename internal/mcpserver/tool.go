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

// tool is one tool: what agents are told of it, and what it does.
type tool struct {
	name    string
	doc     string // one line: agents pay for it in every session
	core    bool   // part of the profile core
	reads   bool   // changes nothing
	args    []arg
	changes bool   // its answer is short, unless fullAnswer is set
	fails   string // the prefix of the message of a failure
	as      string // the argument that names the agent for which it acts, see call.who
	run     func(*call) (answer, error)

	delegates  bool // not listed where nobody may delegate
	destroys   bool // ends or removes what nobody can bring back
	idempotent bool // a second call with the same arguments changes nothing
}

// call is one call of a tool with its checked arguments.
type call struct {
	values
	tool  string
	ctx   context.Context
	svc   *service.Service
	actor task.Actor
	who   string // the agent for which a tool acts
}

// answer is the success of a call; beside an error it is not used. line is text
// before the JSON, structured what is in the JSON, body what the text shows, nil
// for the same.
type answer struct {
	line       string
	structured any
	body       any
	compact    bool // no indentation: long lists cost less
}

// tools are all tools, in the order of the documentation.
var tools = concat(queueTools, taskTools, stepTools, threadTools, delegateTools, todoTools)

// byName finds a tool.
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

// declared is what tools/list says of the tool. Claude Code finds most tools by
// a search, and loads those at once that ask for it.
func (t tool) declared(p profile) *mcp.Tool {
	d := &mcp.Tool{Name: t.name, Description: t.doc, InputSchema: argsSchema(t.args), Annotations: t.hints()}
	if t.core && p == profileFull { // the short profile is short enough
		d.Meta = mcp.Meta{"anthropic/alwaysLoad": true}
	}
	return d
}

// hints are the annotations of the tool. Clients without a person to ask, such
// as codex exec, refuse a tool that writes unless both of its other hints are
// false. Of a tool that reads, the specification gives neither a meaning.
func (t tool) hints() *mcp.ToolAnnotations {
	if t.reads {
		return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}
	}
	openWorld := false
	return &mcp.ToolAnnotations{DestructiveHint: &t.destroys, IdempotentHint: t.idempotent, OpenWorldHint: &openWorld}
}

// toolHandler returns the handler that the SDK calls for a tool.
func (h *handler) toolHandler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return h.perform(ctx, t, req.Params.Arguments), nil
	}
}

// perform checks the arguments, runs the tool, and turns every outcome into a
// result: a panic too, which would end the whole server, as the SDK runs tools
// in goroutines of its own.
func (h *handler) perform(ctx context.Context, t tool, arguments json.RawMessage) (res *mcp.CallToolResult) {
	ctx, done := whileThere(ctx)
	defer done()
	defer func() {
		if p := recover(); p != nil {
			res = h.failure(t, nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
		if only, _ := ctx.Value(textOnlyKey{}).(bool); only {
			res.StructuredContent = nil
		}
	}()
	who := task.ActorIn(ctx)
	v, err := h.decode(ctx, t, who, arguments)
	if err != nil {
		return h.failure(t, nil, err)
	}
	c, a := &call{values: v, tool: t.name, ctx: ctx, svc: h.svc, actor: who}, answer{}
	if t.as != "" {
		c.who, err = c.agent(t.as)
	}
	if err == nil {
		a, err = t.run(c)
	}
	if err == nil {
		res, err = a.result()
	}
	if err != nil {
		h.svc.Refused(ctx, who, "tool "+t.name, err)
		return h.failure(t, t.args, err)
	}
	return res
}

// decode reads the arguments of a call. The token of a run may leave out which
// task is meant, its own, but where that would destroy something.
func (h *handler) decode(ctx context.Context, t tool, who task.Actor, arguments json.RawMessage) (values, error) {
	own := slices.IndexFunc(t.args, func(a arg) bool { return a.required && a.kind == isID && camel(a.name) == "taskId" })
	if who.RunID == 0 || own < 0 || t.destroys {
		return decode(t.args, arguments)
	}
	args := slices.Clone(t.args)
	args[own].required = false
	v, err := decode(args, arguments)
	if err != nil || v.has(args[own].name) {
		return v, err
	}
	r, err := h.svc.Run(ctx, who, who.RunID)
	if err != nil {
		return nil, err
	}
	v[args[own].name] = r.TaskID
	return v, nil
}

// agent returns the agent that an argument names, by default the caller, if
// the caller may speak for it.
func (c *call) agent(name string) (string, error) {
	who := c.text(name)
	if who == "" && c.actor.IsAgent() {
		who = c.actor.Name
	}
	if who == "" {
		return "", task.FieldErrorf(name, "is required: you are a person, so name an agent")
	}
	return who, c.actor.Speaks(who)
}
