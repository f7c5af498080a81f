package handlers

import (
	"context"
	"time"

	"taskyard/service"
	"taskyard/task"
)

// RunPath is the id of a run in the path.
type RunPath struct {
	ID pathID `path:"id"`
}

// RunsPage is a page of a list of runs.
type RunsPage struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Before cursor `query:"before" doc:"runs with a smaller id; the cursor next of the page before"`
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

type runsOut struct {
	Body struct {
		Runs []*task.Run `json:"runs"`
		Next string      `json:"next,omitempty" doc:"cursor of the next page; absent at the end"`
		CutMark
	}
}

// shownRun is a run as a reviewer needs it.
type shownRun struct {
	task.Run
	Spec     *task.Spec         `json:"spec,omitempty" doc:"exactly what will run, while an approval is waited for"`
	Enforced []task.Enforcement `json:"enforcement,omitempty" doc:"each tool and limit of spec, and whether the runner enforces it"`
	workAnswer
}

type runOut struct {
	Body shownRun
}

func runAnswer(r *task.Run, err error) (*runOut, error) {
	if err != nil {
		return nil, err
	}
	out := &runOut{Body: shownRun{Run: *r}}
	if r.Phase == task.PhaseApproval {
		out.Body.Spec = r.Spec
	}
	return out, nil
}

type transcriptIn struct {
	RunPath
	After cursor `query:"after" doc:"lines with a greater id; the cursor next of the page before"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

type lineIn struct {
	RunPath
	Message pathID `path:"message" doc:"id of a line of this run"`
	From    int    `query:"from" minimum:"0" doc:"bytes of the content that were read already: the answer continues behind them"`
}

type approveBody struct {
	Scope   task.Scope  `json:"scope,omitempty" enum:"once,task" doc:"default once: this run; task: all runs of this task until it closes"`
	Limits  task.Limits `json:"limits,omitzero" doc:"tighter limits"`
	Version string      `json:"version,omitempty" doc:"approval.version as it was reviewed"`
	UndoWindow
}

// UndoWindow is how long a decision can be undone.
type UndoWindow struct {
	UndoSeconds int `json:"undoSeconds,omitzero" minimum:"0" maximum:"60" doc:"how long the decision can be undone; it takes effect only then. Default 0: at once"`
}

func (u UndoWindow) window() time.Duration { return time.Duration(u.UndoSeconds) * time.Second }

type approveIn struct {
	RunPath
	optional[approveBody]
}

type denyIn struct {
	RunPath
	Body struct {
		Reason string `json:"reason" doc:"the agent that asked gets it"`
		UndoWindow
	}
}

type cancelRunIn struct {
	RunPath
	optional[reasonBody]
}

type retryIn struct {
	RunPath
	optional[nothing]
}

func (s *Server) runOperations() {
	handle(s, op{Method: "GET", Path: "/api/runs", Need: task.Read, Tag: "Runs", Summary: "List runs, newest first"},
		func(ctx context.Context, in *runsIn) (*runsOut, error) {
			return s.runsAnswer(ctx, task.RunFilter{Status: in.Status, Agent: in.Agent, TaskID: in.Task.ID, Limit: in.Limit, Before: in.Before.ID})
		})
	handle(s, op{
		Method: "GET", Path: "/api/runs/{id}", Need: task.Read, Tag: "Runs",
		Summary: "Read a run with result, limits, usage, approval and changed files",
	}, func(ctx context.Context, in *RunPath) (*runOut, error) {
		out, err := runAnswer(s.svc.Run(ctx, actorIn(ctx), in.ID.ID))
		if err == nil && out.Body.Spec != nil {
			out.Body.Enforced = s.enforcement(out.Body.Spec)
		}
		return s.withWork(ctx, out, err)
	})
	handle(s, op{
		Method: "GET", Path: "/api/runs/{id}/diff", Need: task.Read, Tag: "Runs",
		Summary: "Read what a run changed as a unified diff",
		Desc: "Text, at most about 256 KiB of lines; what is left out is said in lines that begin with " +
			"`#`. Empty until the run has ended, and when nothing changed.",
	}, s.runDiff)
	handle(s, op{
		Method: "GET", Path: "/api/runs/{id}/messages", Need: task.Read, Tag: "Runs",
		Summary: "Read the transcript of a run, oldest first",
	}, func(ctx context.Context, in *transcriptIn) (*messagesOut, error) {
		list, err := s.svc.Transcript(ctx, actorIn(ctx), in.ID.ID, in.After.ID, in.Limit)
		return messagesAnswer(ctx, list, in.Limit, err)
	})
	handle(s, op{
		Method: "GET", Path: "/api/runs/{id}/messages/{message}", Need: task.Read, Tag: "Runs",
		Summary: "Read one line of a transcript",
		Desc: "A line that is too long for one answer tells in `contentCut` how many bytes of its content are " +
			"left out; add those that were read up to `from` and ask again.",
	}, s.transcriptLine)
	handle(s, op{
		Method: "POST", Path: "/api/runs/{id}/approve", Need: task.Decide, Tag: "Approvals",
		Summary: "Let a waiting run run, exactly as it was shown",
	}, func(ctx context.Context, in *approveIn) (*runOut, error) {
		b := in.body()
		return runAnswer(s.svc.ApproveRun(ctx, actorIn(ctx), in.ID.ID,
			service.Approve{Scope: b.Scope, Limits: b.Limits, Version: b.Version, Undo: b.window()}))
	})
	handle(s, op{
		Method: "POST", Path: "/api/runs/{id}/deny", Need: task.Decide, Tag: "Approvals",
		Summary: "Refuse a waiting run for good",
	}, func(ctx context.Context, in *denyIn) (*runOut, error) {
		return runAnswer(s.svc.DenyRunLater(ctx, actorIn(ctx), in.ID.ID, in.Body.Reason, in.Body.window()))
	})
	handle(s, op{
		Method: "POST", Path: "/api/runs/{id}/undo", Need: task.Decide, Tag: "Approvals",
		Summary: "Undo your decision on a run, before it takes effect",
		Desc:    "While `held` is in the run. Afterwards: 409 `run_already_decided`.",
	}, s.undoRun)
	handle(s, op{Method: "POST", Path: "/api/runs/{id}/cancel", Need: task.Write, Tag: "Runs", Summary: "End an open run"},
		func(ctx context.Context, in *cancelRunIn) (*runOut, error) {
			return runAnswer(s.svc.CancelRun(ctx, actorIn(ctx), in.ID.ID, in.body().Reason))
		})
	handle(s, op{
		Method: "POST", Path: "/api/runs/{id}/retry", Need: task.Write, Tag: "Runs",
		Summary: "Run the task of an ended run again", Desc: "Answers the new run, which names the old one.",
	},
		func(ctx context.Context, in *retryIn) (*runOut, error) {
			return runAnswer(s.svc.RetryRun(ctx, actorIn(ctx), in.ID.ID))
		})
}

func (s *Server) transcriptLine(ctx context.Context, in *lineIn) (*messageOut, error) {
	m, err := s.svc.TranscriptLine(ctx, actorIn(ctx), in.ID.ID, in.Message.ID)
	if err != nil {
		return nil, err
	}
	if in.From > len(m.Content) {
		return nil, task.FieldErrorf("from", "must be at most %d, the bytes of the content", len(m.Content))
	}
	m.Content = m.Content[in.From:]
	return &messageOut{*m}, nil
}

func (s *Server) undoRun(ctx context.Context, in *retryIn) (*runOut, error) {
	if _, err := s.svc.UndoDecisions(ctx, actorIn(ctx), []task.ID{in.ID.ID}); err != nil {
		return nil, err
	}
	return runAnswer(s.svc.Run(ctx, actorIn(ctx), in.ID.ID))
}

func (s *Server) taskRuns(ctx context.Context, in *taskRunsIn) (*runsOut, error) {
	return s.runsAnswer(ctx, task.RunFilter{TaskID: in.ID.ID, Limit: in.Limit, Before: in.Before.ID})
}

func (s *Server) runsAnswer(ctx context.Context, f task.RunFilter) (*runsOut, error) {
	list, err := s.svc.Runs(ctx, actorIn(ctx), f)
	if err != nil {
		return nil, err
	}
	out := &runsOut{}
	out.Body.Runs = list
	out.Body.CutMark = cutMark(ctx)
	out.Body.Next = nextID(ctx, list, f.Limit, func(r *task.Run) task.ID { return r.ID })
	return out, nil
}
