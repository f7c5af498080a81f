package handlers

import (
	"context"

	"taskyard/task"
)

type todoIn struct {
	AgentPath
	Body struct {
		Operation string  `json:"operation" enum:"list,count,lpush,rpush,lpop,rpop,lpeek,rpeek" doc:"l is the front, r is the back"`
		Item      *string `json:"item,omitempty" doc:"only for lpush and rpush: 1 to 4096 characters, not only white space; stored exactly as sent"`
		After     string  `json:"after,omitempty" doc:"only for list: next of the previous page"`
		Limit     int     `json:"limit,omitempty" doc:"only for list: 1 to 1000, default 1000"`
	}
}

func (s *Server) apiTodo(ctx context.Context, in *todoIn) (task.TodoAnswer, error) {
	b := in.Body
	return s.svc.TodoCall(ctx, actorIn(ctx), in.ID,
		task.TodoCall{Op: task.TodoOp(b.Operation), Item: b.Item, After: b.After, Limit: b.Limit})
}
