package handlers

import (
	"context"
	"time"

	"taskyard/service"
	"taskyard/task"
)

// RunPath is the ID of a run in the path.
type RunPath struct {
	ID pathID `path:"id"`
}

// RunsPage is a page of a list of runs.
type RunsPage struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Before cursor `query:"before" doc:"only runs with a smaller id; use next of the previous page"`
}

type runsIn struct {
	Status task.RunStatus `query:"status" enum:"pending,running,completed,failed,canceled"`
	Agent  string         `query:"agent" doc:"agent id"`
	Task   pathID         `query:"task"`
	RunsPage
}

type taskRunsIn struct {
	TaskPath
	RunsPage
}

type runsOutBody struct {
	Runs []*task.Run `json:"runs"`
	Next string      `json:"next,omitempty" doc:"cursor of the next page; absent at the end"`
	CutMark
}

// shownRun is a run with the details that a reviewer needs.
type shownRun struct {
	task.Run
	Spec     *task.Spec         `json:"spec,omitempty" doc:"exactly what will run; only while the run is waiting for approval"`
	Enforced []task.Enforcement `json:"enforcement,omitempty" doc:"each tool and limit in spec, and whether the runner enforces it"`
	Messages []task.RunMessage  `json:"said,omitempty" doc:"messages that people sent to the agent during the run"`
	WorkAnswer
}

func runAnswer(r *task.Run, err error) (shownRun, error) {
	if err != nil {
		return shownRun{}, err
	}
	out := shownRun{Run: *r}
	if r.Phase == task.PhaseApproval {
		out.Spec = r.Spec
	}
	return out, nil
}

type transcriptIn struct {
	RunPath
	After cursor `query:"after" doc:"only entries with a greater id; use next of the previous page"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

type lineIn struct {
	RunPath
	Message pathID `path:"message" doc:"id of a line of this transcript"`
	From    int    `query:"from" minimum:"0" doc:"bytes of the content to skip because you have them already"`
}

type approveBody struct {
	Scope   task.Scope  `json:"scope,omitempty" enum:"once,task" doc:"default once: this run; task: all runs of this task until it closes"`
	Limits  task.Limits `json:"limits,omitzero" doc:"tighter limits"`
	Version string      `json:"version,omitempty" doc:"the approval.version that you reviewed"`
	UndoWindow
}

// UndoWindow is how long a decision can be undone.
type UndoWindow struct {
	UndoSeconds int `json:"undoSeconds,omitzero" minimum:"0" maximum:"60" doc:"how long the decision can be undone before it takes effect; default 0: it takes effect at once"`
}

func (u UndoWindow) window() time.Duration { return seconds(u.UndoSeconds) }

type approveIn struct {
	RunPath
	optional[approveBody]
}

type denyIn struct {
	RunPath
	Body struct {
		Reason string `json:"reason" doc:"sent to the agent that requested the run"`
		UndoWindow
	}
}

type runTextIn struct {
	RunPath
	Body struct {
		Text string `json:"text" doc:"at most 64 KiB"`
	}
}

type cancelRunIn struct {
	RunPath
	optional[reasonBody]
}

type retryIn struct {
	RunPath
	optional[emptyBody]
}

func (s *Server) apiRuns(ctx context.Context, in *runsIn) (runsOutBody, error) {
	return s.runsAnswer(ctx, task.RunFilter{Status: in.Status, Agent: in.Agent, TaskID: in.Task.ID, Limit: in.Limit, Before: in.Before.ID})
}

func (s *Server) apiRun(ctx context.Context, in *RunPath) (shownRun, error) {
	out, err := runAnswer(s.svc.Run(ctx, actorIn(ctx), in.ID.ID))
	if err != nil {
		return out, err
	}
	out.Enforced = s.enforcement(out.Spec)
	if out.Messages, err = s.svc.RunMessages(ctx, actorIn(ctx), in.ID.ID); err != nil {
		return out, err
	}
	out.WorkAnswer, err = s.workAnswer(ctx, in.ID.ID)
	return out, err
}

func (s *Server) apiSendRunMessage(ctx context.Context, in *runTextIn) (task.RunMessage, error) {
	m, err := s.svc.SendRunMessage(ctx, actorIn(ctx), in.ID.ID, in.Body.Text)
	if err != nil {
		return task.RunMessage{}, err
	}
	return *m, nil
}

func (s *Server) apiTranscript(ctx context.Context, in *transcriptIn) (messagesOutBody, error) {
	list, err := s.svc.Transcript(ctx, actorIn(ctx), in.ID.ID, in.After.ID, in.Limit)
	return messagesAnswer(ctx, list, in.Limit, err)
}

func (s *Server) apiApproveRun(ctx context.Context, in *approveIn) (shownRun, error) {
	b := in.body()
	return runAnswer(s.svc.ApproveRun(ctx, actorIn(ctx), in.ID.ID,
		service.Approve{Scope: b.Scope, Limits: b.Limits, Version: b.Version, Undo: b.window()}))
}

func (s *Server) apiDenyRun(ctx context.Context, in *denyIn) (shownRun, error) {
	return runAnswer(s.svc.DenyRun(ctx, actorIn(ctx), in.ID.ID, in.Body.Reason, in.Body.window()))
}

func (s *Server) apiCancelRun(ctx context.Context, in *cancelRunIn) (shownRun, error) {
	return runAnswer(s.svc.CancelRun(ctx, actorIn(ctx), in.ID.ID, in.body().Reason))
}

func (s *Server) apiRetryRun(ctx context.Context, in *retryIn) (shownRun, error) {
	return runAnswer(s.svc.RetryRun(ctx, actorIn(ctx), in.ID.ID))
}

func (s *Server) apiTranscriptLine(ctx context.Context, in *lineIn) (task.Message, error) {
	m, err := s.svc.TranscriptLine(ctx, actorIn(ctx), in.ID.ID, in.Message.ID)
	if err != nil {
		return task.Message{}, err
	}
	if in.From > len(m.Content) {
		return task.Message{}, task.FieldErrorf("from", "must be at most %d, the bytes of the content", len(m.Content))
	}
	m.Content = m.Content[in.From:]
	return *m, nil
}

func (s *Server) apiUndoDecision(ctx context.Context, in *retryIn) (shownRun, error) {
	if _, err := s.svc.UndoDecisions(ctx, actorIn(ctx), []task.ID{in.ID.ID}); err != nil {
		return shownRun{}, err
	}
	return runAnswer(s.svc.Run(ctx, actorIn(ctx), in.ID.ID))
}

func (s *Server) apiTaskRuns(ctx context.Context, in *taskRunsIn) (runsOutBody, error) {
	return s.runsAnswer(ctx, task.RunFilter{TaskID: in.ID.ID, Limit: in.Limit, Before: in.Before.ID})
}

func (s *Server) runsAnswer(ctx context.Context, f task.RunFilter) (runsOutBody, error) {
	list, err := s.svc.Runs(ctx, actorIn(ctx), f)
	return runsOutBody{list, nextID(ctx, list, f.Limit, func(r *task.Run) task.ID { return r.ID }), cutMark(ctx)}, err
}
