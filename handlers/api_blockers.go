package handlers

import (
	"context"

	"taskyard/task"
)

type blockersIn struct {
	TaskPath
	Body struct {
		TaskIDs []apiID `json:"taskIds" doc:"the whole set, at most 100; an empty one blocks nothing"`
	}
}

type whyOut struct {
	Body struct {
		Reasons []task.Reason `json:"reasons" doc:"the most decisive first"`
	}
}

// blockerOperations are what a task waits for, and why it is not running.
func (s *Server) blockerOperations() {
	handle(s, op{
		Method: "PUT", Path: "/api/tasks/{id}/blocked-by", Need: task.Write, Tag: "Tasks",
		Summary: "Set the tasks that must be done before this one",
		Desc: "A blocked task is in no signup, tick or wake. When the last blocker is done, the owner " +
			"wakes. A canceled blocker keeps the task blocked until a person leaves it out; an agent may not.",
	},
		func(ctx context.Context, in *blockersIn) (*taskOut, error) {
			return taskAnswer(s.svc.SetBlockedBy(ctx, actorIn(ctx), in.ID.ID, ids(in.Body.TaskIDs)))
		})
	handle(s, op{
		Method: "GET", Path: "/api/tasks/{id}/why", Need: task.Read, Tag: "Tasks",
		Summary: "Tell why a task is or is not running",
	}, s.why)
}

func (s *Server) why(ctx context.Context, in *TaskPath) (*whyOut, error) {
	list, err := s.svc.Why(ctx, actorIn(ctx), in.ID.ID)
	if err != nil {
		return nil, err
	}
	out := &whyOut{}
	out.Body.Reasons = list
	return out, nil
}
