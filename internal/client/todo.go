package client

import (
	"net/url"
	"strconv"
)

// Todos contains the commands for an agent's todo list. L is the front, R the
// back.
type Todos struct {
	LPush TodoPush  `cmd:"" name:"lpush" help:"Add an item at the front."`
	RPush TodoPush  `cmd:"" name:"rpush" help:"Add an item at the back."`
	LPop  TodoTake  `cmd:"" name:"lpop" help:"Remove the front item and print it."`
	RPop  TodoTake  `cmd:"" name:"rpop" help:"Remove the back item and print it."`
	LPeek TodoTake  `cmd:"" name:"lpeek" help:"Print the front item."`
	RPeek TodoTake  `cmd:"" name:"rpeek" help:"Print the back item."`
	List  TodoList  `cmd:"" help:"Print the items, front to back."`
	Count TodoCount `cmd:"" help:"Print how many items there are."`

	Agent string   `short:"a" help:"Agent of the list (default: TASKYARD_AGENT, or the agent of the token)." placeholder:"AGENT" complete:"agent"`
	JSON  JSONFlag `name:"json" help:"Print the server's JSON answer."`
}

type todoAnswer struct {
	OK    bool     `json:"ok"`
	Count int      `json:"count"`
	Item  string   `json:"item"`
	Items []string `json:"items"`
	Next  string   `json:"next"`
}

// todo performs one operation on the agent's list.
func (e *Env) todo(list *Todos, body payload) ([]byte, todoAnswer, error) {
	var out todoAnswer
	agent, err := e.agent("with --agent", list.Agent)
	if err != nil {
		return nil, out, err
	}
	raw, err := e.call("POST", agentPath(agent, "/todo"), body, &out)
	return raw, out, err
}

// TodoPush adds an item.
type TodoPush struct {
	Item string `arg:"" help:"The item; - reads it from stdin."`
}

// Run adds the item at the end that the command names.
func (c *TodoPush) Run(e *Env, list *Todos) error {
	item, err := e.text(c.Item, "")
	if err != nil {
		return err
	}
	raw, out, err := e.todo(list, payload{"operation": e.Command, "item": item})
	if err != nil {
		return err
	}
	return e.answer(raw, func() { e.say("%d", out.Count) })
}

// TodoTake pops or peeks.
type TodoTake struct{}

// Run prints the item: verbatim for a program, escaped on a terminal. For an
// empty list, it returns ErrNothing.
func (TodoTake) Run(e *Env, list *Todos) error {
	raw, out, err := e.todo(list, payload{"operation": e.Command})
	if err != nil {
		return err
	}
	err = e.answer(raw, func() {
		switch {
		case !out.OK:
		case e.Width > 0:
			e.say("%s", printableLines(out.Item))
		default:
			e.say("%s", out.Item)
		}
	})
	if err == nil && !out.OK {
		return nothingError("the list is empty")
	}
	return err
}

// TodoList lists the items.
type TodoList struct {
	Limit int    `help:"Maximum number of results." placeholder:"N"`
	After string `help:"Continue after an earlier page." placeholder:"CURSOR"`
}

// Run prints the items, one per line.
func (c *TodoList) Run(e *Env, list *Todos) error {
	body := payload{"operation": "list"}.text("after", c.After)
	if c.Limit != 0 {
		body["limit"] = c.Limit
	}
	raw, out, err := e.todo(list, body)
	if err != nil {
		return err
	}
	return e.answer(raw, func() {
		for _, item := range out.Items {
			e.say("%s", e.oneLine(item))
		}
		e.more("--after", out.Next)
	})
}

// oneLine returns a text on one line of the terminal.
func (e *Env) oneLine(s string) string {
	if s = printable(s); e.Width > 0 {
		return cut(s, max(e.Width-1, 12))
	}
	return s
}

// TodoCount counts the items.
type TodoCount struct{}

// Run prints the number of items.
func (TodoCount) Run(e *Env, list *Todos) error {
	raw, out, err := e.todo(list, payload{"operation": "count"})
	if err != nil {
		return err
	}
	return e.answer(raw, func() { e.say("%s", strconv.Itoa(out.Count)) })
}

func agentPath(agent, suffix string) string { return "/api/agents/" + url.PathEscape(agent) + suffix }
