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

// IndexPath is the place of a step or resource in a task.
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
		Owner       string `json:"owner,omitempty" doc:"agent id; default: the caller, or for people the parent's owner"`
		Description string `json:"description,omitempty"`
		Priority    int    `json:"priority,omitempty"`
	}
}

type resourceIn struct {
	TaskPath
	Body resourceBody
}

type stepOut struct {
	Body task.Step
}

func (s *Server) stepOperations() {
	handle(s, op{
		Method: "GET", Path: "/api/tasks/{id}/steps/{index}", Need: task.Read, Tag: "Steps",
		Summary: "Read one step, whole", Desc: "For steps whose details an answer left out in part (`detailsCut`).",
	},
		func(ctx context.Context, in *IndexPath) (*stepOut, error) {
			st, err := s.svc.Step(ctx, actorIn(ctx), in.ID.ID, in.Index)
			return &stepOut{st}, err
		})
	handle(s, op{
		Method: "PUT", Path: "/api/tasks/{id}/steps", Need: task.Write, Tag: "Steps",
		Summary: "Replace the whole plan of a task", Desc: "Only while no step is linked to a subtask; then change steps one by one.",
	},
		func(ctx context.Context, in *stepsIn) (*taskOut, error) {
			return taskAnswer(s.svc.ReplaceSteps(ctx, actorIn(ctx), in.ID.ID, stepsOf(in.Body.Steps)))
		})
	handle(s, op{Method: "PATCH", Path: "/api/tasks/{id}/steps/{index}", Need: task.Write, Tag: "Steps", Summary: "Change one step"},
		func(ctx context.Context, in *stepPatchIn) (*taskOut, error) {
			return taskAnswer(s.svc.UpdateStep(ctx, actorIn(ctx), in.ID.ID, in.Index, task.StepPatch(in.Body)))
		})
	handle(s, op{
		Method: "POST", Path: "/api/tasks/{id}/steps/{index}/subtask", Need: task.Write, Status: 201, Tag: "Steps",
		Summary: "Create a subtask for a step",
	}, func(ctx context.Context, in *subtaskIn) (*createdOut, error) {
		b := in.Body
		return createdAnswer(s.svc.CreateSubtask(ctx, actorIn(ctx), in.ID.ID, in.Index,
			task.New{Title: b.Title, Owner: b.Owner, Description: b.Description, Priority: b.Priority}))
	})
	handle(s, op{
		Method: "POST", Path: "/api/tasks/{id}/resources", Need: task.Write, Status: 201, Tag: "Tasks",
		Summary: "Attach a URL or file",
	}, func(ctx context.Context, in *resourceIn) (*taskOut, error) {
		return taskAnswer(s.svc.AddResource(ctx, actorIn(ctx), in.ID.ID, task.Resource(in.Body)))
	})
	handle(s, op{
		Method: "DELETE", Path: "/api/tasks/{id}/resources/{index}", Need: task.Write, Tag: "Tasks",
		Summary: "Take off a resource",
	}, func(ctx context.Context, in *IndexPath) (*taskOut, error) {
		return taskAnswer(s.svc.RemoveResource(ctx, actorIn(ctx), in.ID.ID, in.Index))
	})
}
