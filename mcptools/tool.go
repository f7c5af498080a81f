package mcptools

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/service"
	"taskyard/task"
)

// tool is one tool: what agents are told of it, and what it does.
type tool struct {
	name  string
	doc   string // one line: agents pay for it in every session
	core  bool   // part of the profile core
	reads bool   // changes nothing
	args  []arg
	fails string // what stands before the message of a failure
	run   func(*call) (answer, error)
}

// call is one call of a tool with its checked arguments.
type call struct {
	values
	tool  string
	ctx   context.Context
	svc   *service.Service
	actor task.Actor
}

// answer is the success of a call: a line of text before the JSON, and what
// stands in the JSON. body is what the text shows; nil is the same.
type answer struct {
	line       string
	structured any
	body       any
	compact    bool // no indentation: long lists cost less
}

// tools are all tools, in the order of the documentation.
var tools = concat(queueTools, taskTools, stepTools, threadTools, delegateTools, todoTools)

func concat(lists ...[]tool) []tool {
	var all []tool
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// declared is what tools/list tells of the tool.
func (t tool) declared() *mcp.Tool {
	d := &mcp.Tool{Name: t.name, Description: t.doc, InputSchema: schemaOf(t.args)}
	if t.reads {
		d.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	}
	return d
}

// handler checks the arguments, runs the tool, and turns both outcomes into a
// result.
func (y *yard) handler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, done := whileThere(ctx)
		defer done()
		v, err := decode(t.args, req.Params.Arguments)
		if err != nil {
			return y.failure(t, nil, err), nil
		}
		a, err := t.run(&call{values: v, tool: t.name, ctx: ctx, svc: y.svc, actor: task.ActorIn(ctx)})
		if err != nil {
			return y.failure(t, t.args, err), nil
		}
		return a.result()
	}
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
