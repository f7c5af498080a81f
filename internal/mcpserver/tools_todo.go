package mcpserver

import (
	"taskyard/task"
)

// todoTools are one tool for each operation on a todo list.
var todoTools = []tool{
	todoTool(task.TodoLPush, "Add to the front of a todo list (urgent)"),
	todoTool(task.TodoRPush, "Add to the back of a todo list"),
	todoTool(task.TodoLPop, "Pop the front item of a todo list"),
	todoTool(task.TodoRPop, "Pop the back item of a todo list"),
	todoTool(task.TodoLPeek, "Peek at the front item"),
	todoTool(task.TodoRPeek, "Peek at the back item"),
	todoTool(task.TodoList, "Read a todo list, front to back"),
	todoTool(task.TodoCount, "Count the items of a todo list"),
}

func todoTool(op task.TodoOp, doc string) tool {
	agent := text("agent_id", "default you")
	if op != task.TodoRPush && op != task.TodoList && op != task.TodoCount { // those three show that the list exists
		agent = agent.hide()
	}
	t := tool{name: "todo_" + string(op), doc: doc, reads: !op.Changes(), args: []arg{agent}}
	switch {
	case op.Pushes():
		t.args = append([]arg{text("item", "1-4096 characters").must()}, t.args...)
	case op == task.TodoList:
		t.args = append(t.args, count("limit", "default 100", 1, task.MaxTodoPage), text("after", "next cursor"))
	}
	t.run = func(c *call) (answer, error) {
		return todo(c, task.TodoCall{
			Op: op, Item: pointer[string](c.values, "item"),
			After: c.text("after"), Limit: c.count("limit", todoLimit(op)),
		})
	}
	return t
}

// todoLimit returns the default number of items in a list; other operations
// have no limit.
func todoLimit(op task.TodoOp) int {
	if op == task.TodoList {
		return 100
	}
	return 0
}

// todo performs one operation on the list of agent_id: any agent may use any
// list.
func todo(c *call, op task.TodoCall) (answer, error) {
	agent := c.text("agent_id")
	if agent == "" && c.has("agent_id") {
		return answer{}, task.FieldErrorf("agent_id", "must name an agent; leave it out for your own list")
	}
	if agent == "" && c.actor.IsAgent() {
		agent = c.actor.Name
	}
	if agent == "" {
		return answer{}, task.FieldErrorf("agent_id", "is required: you are a person, so name an agent")
	}
	a, err := c.svc.TodoCall(c.ctx, c.actor, agent, op)
	return answer{structured: a, compact: true}, err
}
