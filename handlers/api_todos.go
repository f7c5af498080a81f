package handlers

import (
	"context"

	"taskyard/task"
)

type todoIn struct {
	AgentPath
	Body struct {
		Operation string  `json:"operation" enum:"list,count,lpush,rpush,lpop,rpop,lpeek,rpeek" doc:"l is the front, r is the back"`
		Item      *string `json:"item,omitempty" doc:"for lpush and rpush alone: 1 to 4096 characters, not only white space; kept to the letter"`
		After     string  `json:"after,omitempty" doc:"for list alone: the cursor next of the page before"`
		Limit     int     `json:"limit,omitempty" doc:"for list alone: 1 to 1000, default 1000"`
	}
}

type todoOut struct {
	Body task.TodoAnswer
}

func (s *Server) todoOperations() {
	handle(s, op{
		Method: "POST", Path: "/api/agents/{id}/todo", Need: task.Read, Tag: "Todo lists", Summary: "Push, pop or read an agent's todo list",
		Desc: "A deque of plain strings for each agent, which every agent and person may use; viewers may read. Push and " +
			"count answer `{\"ok\":true,\"count\":3}`, pop and peek `{\"ok\":true,\"item\":\"…\"}`, " +
			"list `{\"ok\":true,\"items\":[…]}` front to back. Nothing to pop or peek at is a normal answer: `{\"ok\":false}`. " +
			"A list that does not fit into one answer (1000 items, about 1 MiB) comes with `count` and the cursor `next`.",
	}, s.todo)
}

func (s *Server) todo(ctx context.Context, in *todoIn) (*todoOut, error) {
	b := in.Body
	a, err := s.svc.TodoCall(ctx, actorIn(ctx), in.ID,
		task.TodoCall{Op: task.TodoOp(b.Operation), Item: b.Item, After: b.After, Limit: b.Limit})
	return &todoOut{Body: a}, err
}
