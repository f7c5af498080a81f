package handlers

import (
	"context"

	"taskyard/task"
)

type stepsIn struct {
	TaskPath
	Body struct {
		Steps []stepBody `json:"steps" doc:"the whole plan, at most 200 steps"`
	}
}

type stepIn struct {
	TaskPath
	Body struct {
		Title   string `json:"title" doc:"1 to 60 characters"`
		Details string `json:"details,omitempty"`
		Done    bool   `json:"done,omitempty"`
		Index   *int   `json:"index,omitempty" minimum:"0" doc:"0-based; the new step goes before the step that has this index; default: at the end"`
	}
}

// IndexPath is the index of a step or resource in a task.
type IndexPath struct {
	TaskPath
	Index int `path:"index" minimum:"0" doc:"0-based"`
}

type stepPatchIn struct {
	IndexPath
	Body struct {
		Title   *string `json:"title,omitempty" doc:"1 to 60 characters"`
		Details *string `json:"details,omitempty"`
		Done    *bool   `json:"done,omitempty"`
	}
}

type subtaskIn struct {
	IndexPath
	Body struct {
		Title       string `json:"title" doc:"1 to 200 characters"`
		Owner       string `json:"owner,omitempty" doc:"agent id; default: the caller, or for people the owner of the parent"`
		Description string `json:"description,omitempty"`
		Priority    int    `json:"priority,omitempty"`
	}
}

type resourceIn struct {
	TaskPath
	Body resourceBody
}

func (s *Server) apiStep(ctx context.Context, in *IndexPath) (task.Step, error) {
	return s.svc.Step(ctx, actorIn(ctx), in.ID.ID, in.Index)
}

func (s *Server) apiReplaceSteps(ctx context.Context, in *stepsIn) (*taskOut, error) {
	return taskAnswer(s.svc.ReplaceSteps(ctx, actorIn(ctx), in.ID.ID, toSteps(in.Body.Steps)))
}

func (s *Server) apiInsertStep(ctx context.Context, in *stepIn) (*taskOut, error) {
	at, b := task.MaxSteps, in.Body
	if b.Index != nil {
		at = *b.Index
	}
	return taskAnswer(s.svc.InsertStep(ctx, actorIn(ctx), in.ID.ID, at, task.Step{Title: b.Title, Details: b.Details, Done: b.Done}))
}

func (s *Server) apiUpdateStep(ctx context.Context, in *stepPatchIn) (*taskOut, error) {
	return taskAnswer(s.svc.UpdateStep(ctx, actorIn(ctx), in.ID.ID, in.Index, task.StepPatch(in.Body)))
}

func (s *Server) apiCreateSubtask(ctx context.Context, in *subtaskIn) (*createdOut, error) {
	b := in.Body
	return createdAnswer(s.svc.CreateSubtask(ctx, actorIn(ctx), in.ID.ID, in.Index,
		task.New{Title: b.Title, Owner: b.Owner, Description: b.Description, Priority: b.Priority}))
}

func (s *Server) apiAddResource(ctx context.Context, in *resourceIn) (*taskOut, error) {
	return taskAnswer(s.svc.AddResource(ctx, actorIn(ctx), in.ID.ID, task.Resource(in.Body)))
}

func (s *Server) apiRemoveResource(ctx context.Context, in *IndexPath) (*taskOut, error) {
	return taskAnswer(s.svc.RemoveResource(ctx, actorIn(ctx), in.ID.ID, in.Index))
}
