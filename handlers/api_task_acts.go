package handlers

import (
	"context"

	"taskyard/service"
	"taskyard/task"
)

type completeBody struct {
	Summary string `json:"summary,omitempty" doc:"what was done, for the history"`
	Claim   int64  `json:"claim,omitempty" minimum:"1" doc:"id of the claim that the caller holds"`
}

type reasonBody struct {
	Reason string `json:"reason,omitempty"`
}

type claimBody struct {
	Claim int64 `json:"claim,omitempty" minimum:"1" doc:"id of the claim that the caller holds"`
}

type canceledOutBody struct {
	Task     *task.Task `json:"task"`
	Canceled []task.ID  `json:"canceled" doc:"all tasks that were canceled, the requested one first"`
}

type runAnswerOutBody struct {
	Run *task.Run `json:"run"`
}

type moveIn struct {
	TaskPath
	Body struct {
		CurrentAgent string `json:"currentAgent" doc:"the current owner"`
		NewAgent     string `json:"newAgent"`
		Comment      string `json:"comment" doc:"what the new owner needs to know"`
		Claim        int64  `json:"claim,omitempty" minimum:"1" doc:"id of the claim that the caller holds"`
	}
}

type movedOutBody struct {
	Task *task.Task `json:"task"`
}

type completeIn struct {
	TaskPath
	optional[completeBody]
}

type reasonIn struct {
	TaskPath
	optional[reasonBody]
}

type claimIn struct {
	TaskPath
	optional[claimBody]
}

type bareIn struct {
	TaskPath
	optional[emptyBody]
}

func (s *Server) apiCompleteTask(ctx context.Context, in *completeIn) (*taskOut, error) {
	s.extendDeadlines(ctx, task.MaxWait) // checks may run
	return taskAnswer(s.svc.CompleteTask(ctx, actorIn(ctx), in.ID.ID, in.body().Summary, in.body().Claim))
}

func (s *Server) apiReleaseClaim(ctx context.Context, in *claimIn) (*taskOut, error) {
	return taskAnswer(s.svc.ReleaseClaim(ctx, actorIn(ctx), in.ID.ID, in.body().Claim))
}

func (s *Server) apiHeartbeat(ctx context.Context, in *claimIn) (*taskOut, error) {
	return taskAnswer(s.svc.Heartbeat(ctx, actorIn(ctx), in.ID.ID, in.body().Claim))
}

func (s *Server) apiCancelTask(ctx context.Context, in *reasonIn) (canceledOutBody, error) {
	c, err := s.svc.CancelTask(ctx, actorIn(ctx), in.ID.ID, in.body().Reason)
	return canceledOutBody(c), err
}

func (s *Server) apiRunTask(ctx context.Context, in *bareIn) (runAnswerOutBody, error) {
	r, err := s.svc.RunNow(ctx, actorIn(ctx), in.ID.ID)
	return runAnswerOutBody{r}, err
}

func (s *Server) apiMoveTask(ctx context.Context, in *moveIn) (movedOutBody, error) {
	b := in.Body
	t, err := s.svc.MoveTask(ctx, actorIn(ctx),
		service.Move{TaskID: in.ID.ID, CurrentAgent: b.CurrentAgent, NewAgent: b.NewAgent, Comment: b.Comment, Claim: b.Claim})
	return movedOutBody{t}, err
}
