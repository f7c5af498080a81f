package handlers

import (
	"context"

	"taskyard/task"
)

type blockersIn struct {
	TaskPath
	Body struct {
		TaskIDs []apiID `json:"taskIds" doc:"the complete set, at most 100; an empty set removes all blockers"`
	}
}

type whyOutBody struct {
	Reasons []task.Reason `json:"reasons" doc:"most important first"`
}

func (s *Server) apiSetBlockers(ctx context.Context, in *blockersIn) (*taskOut, error) {
	return taskAnswer(s.svc.SetBlockedBy(ctx, actorIn(ctx), in.ID.ID, ids(in.Body.TaskIDs)))
}

func (s *Server) apiWhy(ctx context.Context, in *TaskPath) (whyOutBody, error) {
	list, err := s.svc.Why(ctx, actorIn(ctx), in.ID.ID)
	return whyOutBody{list}, err
}
