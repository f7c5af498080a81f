package handlers

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"taskyard/task"
)

// AgentPath is the ID of an agent in the path.
type AgentPath struct {
	ID string `path:"id" maxLength:"200" doc:"agent id"`
}

type queueIn struct {
	AgentPath
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
	After string `query:"after" doc:"next of the previous page"`
	Full  bool   `query:"full" doc:"true: include descriptions"`
}

type signupBody struct {
	Count         int `json:"count,omitempty" minimum:"1" maximum:"50" doc:"claim at most this many, fewer if they are long; the response is then {tasks}"`
	WaitSeconds   int `json:"waitSeconds,omitempty" minimum:"0" maximum:"50" doc:"how long to wait for a task if none is free"`
	MaxConcurrent int `json:"maxConcurrent,omitempty" minimum:"1" maximum:"50" doc:"instead of count and waitSeconds: claim until the agent holds this many in total; the response is {tasks, held}"`
}

type signupIn struct {
	AgentPath
	optional[signupBody]
}

// signupOutBody has task, which may be null, or with count tasks, or with
// maxConcurrent tasks and held; held is also set if nothing was claimed and the
// agent still holds tasks.
type signupOutBody struct {
	Task  **task.Task   `json:"task,omitzero" doc:"null when nothing is free"`
	Tasks *[]*task.Task `json:"tasks,omitzero" doc:"instead of task, if count or maxConcurrent was sent"`
	Held  *[]task.ID    `json:"held,omitzero" doc:"all tasks that the agent holds now, at most 500: with maxConcurrent, and if nothing is free but it holds some"`
}

// TransformSchema declares for huma that task may be null.
func (signupOutBody) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return nullable(s, "task")
}

type finishIn struct {
	AgentPath
	Body struct {
		TaskID  apiID  `json:"taskId"`
		Summary string `json:"summary,omitempty"`
		Claim   int64  `json:"claim,omitempty" minimum:"1" doc:"id of the claim that the caller holds"`
	}
}

type finishOutBody struct {
	Completed *task.Task `json:"completed"`
	Task      *task.Task `json:"task" doc:"null when nothing is free"`
	Paused    string     `json:"paused,omitempty" doc:"who paused the agent or the server and why, if that is why task is null"`
	Held      []task.ID  `json:"held,omitempty" doc:"tasks that the agent still holds, if task is null"`
}

// TransformSchema declares for huma that the next task may be null.
func (finishOutBody) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return nullable(s, "task")
}

type reassignIn struct {
	AgentPath
	Body struct {
		TaskIDs  []apiID `json:"taskIds" doc:"1 to 500 tasks of this agent"`
		NewAgent string  `json:"newAgent"`
		Comment  string  `json:"comment" doc:"what the new owner needs to know"`
	}
}

type reassignedOutBody struct {
	Tasks []*task.Task `json:"tasks"`
}

func (s *Server) apiQueue(ctx context.Context, in *queueIn) (pageOutBody, error) {
	p, err := s.svc.Queue(ctx, actorIn(ctx), in.ID, in.Full, in.Limit, in.After)
	return pageAnswer(ctx, p, err)
}

func (s *Server) apiSignup(ctx context.Context, in *signupIn) (out signupOutBody, err error) {
	b := in.body()
	if b.MaxConcurrent > 0 {
		if b.Count > 0 || b.WaitSeconds > 0 {
			return out, task.FieldErrorf("maxConcurrent", "goes with neither count nor waitSeconds; leave them out")
		}
		auto, err := s.svc.AutoSignup(ctx, actorIn(ctx), in.ID, b.MaxConcurrent)
		auto.Tasks = task.FitTasks(auto.Tasks, listBytes)
		out.Tasks, out.Held = &auto.Tasks, &auto.Held
		return out, err
	}
	count, wait := b.Count, seconds(b.WaitSeconds)
	s.extendDeadlines(ctx, wait)
	list, err := s.svc.SignupWait(ctx, actorIn(ctx), in.ID, max(1, count), wait)
	if err != nil {
		return out, err
	}
	if len(list) == 0 {
		claimed, err := s.svc.Held(ctx, actorIn(ctx), in.ID)
		if err != nil {
			return out, err
		}
		if len(claimed) > 0 {
			out.Held = &claimed
		}
	}
	if count > 0 {
		list = task.FitTasks(list, listBytes)
		out.Tasks = &list
		return out, nil
	}
	var first *task.Task
	if len(list) > 0 {
		first = list[0]
	}
	out.Task = &first
	return out, nil
}

func (s *Server) apiCompleteAndSignup(ctx context.Context, in *finishIn) (finishOutBody, error) {
	b := in.Body
	s.extendDeadlines(ctx, task.MaxWait) // checks may run
	done, err := s.svc.CompleteAndSignup(ctx, actorIn(ctx), in.ID, task.ID(b.TaskID), b.Summary, b.Claim)
	if err != nil {
		return finishOutBody{}, err
	}
	out := finishOutBody{Completed: done.Completed.Fitted(listBytes / 2), Paused: done.Paused, Held: done.Held}
	if done.Task != nil {
		out.Task = done.Task.Fitted(listBytes / 2)
	}
	return out, nil
}

func (s *Server) apiReassign(ctx context.Context, in *reassignIn) (reassignedOutBody, error) {
	b := in.Body
	list, err := s.svc.Reassign(ctx, actorIn(ctx), in.ID, ids(b.TaskIDs), b.NewAgent, b.Comment)
	return reassignedOutBody{task.FitTasks(list, listBytes)}, err
}
