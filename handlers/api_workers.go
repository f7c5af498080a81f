package handlers

import (
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"taskyard/service"
	"taskyard/task"
)

type leaseBody struct {
	Name        string   `json:"name,omitempty" doc:"of the machine, at most 100 characters"`
	Labels      []string `json:"labels,omitempty" doc:"what the worker offers; a runner's labels must all be among them"`
	Runners     []string `json:"runners,omitempty" doc:"the runners it can execute; default any"`
	ParentRun   task.ID  `json:"parentRun,omitempty" doc:"only a run that this one delegated: for a worker that has no other place, while this one waits"`
	WaitSeconds int      `json:"waitSeconds,omitempty" minimum:"0" maximum:"50" doc:"when there is no run, wait so long for one"`
}

type leaseIn struct {
	optional[leaseBody]
}

type leaseOutBody struct {
	Run *task.Leased `json:"run" doc:"null when there is none"`
}

// TransformSchema declares for huma that the run may be null.
func (leaseOutBody) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return orNull(s, "run")
}

type leaseOut struct{ Body leaseOutBody }

type holdIn struct {
	RunPath
	Body task.Hold
}

type beatIn struct {
	RunPath
	Body struct {
		task.Hold
		WaitSeconds int  `json:"waitSeconds,omitempty" minimum:"0" maximum:"50" doc:"for workers: hold the answer so long, or until the run ends or waits differs"`
		Waits       bool `json:"waits,omitempty" doc:"for workers: what the answer before said of waits"`
	}
}

type beatOut struct {
	Body task.Beat
}

type linesIn struct {
	RunPath
	Body struct {
		task.Hold
		From   int64 `json:"from" minimum:"1" doc:"number of the first event, counted from 1 at each start of the run; what came before is passed over"`
		Events []struct {
			Type string `json:"type" enum:"text,tool_call,tool_result,usage,permission,log,error"`
			Text string `json:"text,omitempty" doc:"at most 32 KiB"`
			Data any    `json:"data,omitempty" doc:"any JSON value of at most 32 KiB"`
		} `json:"events" maxItems:"100"`
	}
}

type linesOut struct {
	Body struct {
		Next int64 `json:"next" doc:"number of the next event"`
	}
}

type endIn struct {
	RunPath
	Body struct {
		task.Hold
		Status    string     `json:"status" enum:"completed,failed,returned" doc:"returned, only for workers: back into the queue, the attempt uncounted"`
		Phase     task.Phase `json:"phase,omitempty" enum:"error,timeout,idle,tokens,cost,turns,crash,protocol,auth" doc:"of a failure; default error"`
		Reason    string     `json:"reason,omitempty" doc:"of a failure, at most 2000 characters"`
		Summary   string     `json:"summary,omitempty" doc:"of a success, at most 8000 characters"`
		Artifacts []string   `json:"artifacts,omitempty" maxItems:"100" doc:"names of what was made"`
		Usage     usageBody  `json:"usage,omitzero"`
		Permanent bool       `json:"permanent,omitempty" doc:"another try would be useless"`
		After     int        `json:"retryAfterSeconds,omitempty" minimum:"0" maximum:"86400" doc:"of a failure: a retry starts no earlier than this"`
		Work      *workBody  `json:"work,omitempty" doc:"what it changed in its workspace, as the worker saw it"`
	}
}

type usageBody struct {
	ToolCalls int     `json:"toolCalls,omitempty" minimum:"0" maximum:"1000000000000"`
	TokensIn  int     `json:"tokensIn,omitempty" minimum:"0" maximum:"1000000000000"`
	TokensOut int     `json:"tokensOut,omitempty" minimum:"0" maximum:"1000000000000"`
	CostUSD   float64 `json:"costUsd,omitempty" minimum:"0" maximum:"1000000000"`
}

type endOut struct {
	Body struct {
		OK bool `json:"ok"`
	}
}

const reportDoc = " For the worker that executes the run, and for the receiver of a webhook " +
	"with the token of the run. A lease that is over: 409 `stale_lease`."

func (s *Server) apiLease(ctx context.Context, in *leaseIn) (*leaseOut, error) {
	b, out := in.body(), &leaseOut{}
	wait := seconds(b.WaitSeconds)
	s.extendDeadlines(ctx, wait)
	run, err := s.svc.LeaseRun(ctx, actorIn(ctx), task.WorkerAsk{
		Name: b.Name, Labels: b.Labels, Runners: b.Runners, Parent: b.ParentRun, Wait: wait,
	})
	out.Body.Run = run
	return out, err
}

func (s *Server) apiReportWorking(ctx context.Context, in *holdIn) (*endOut, error) {
	return reportAnswer(s.svc.ReportWorking(ctx, actorIn(ctx), in.ID.ID, in.Body))
}

func reportAnswer(err error) (*endOut, error) {
	out := &endOut{}
	out.Body.OK = err == nil
	return out, err
}

func (s *Server) apiReportHeartbeat(ctx context.Context, in *beatIn) (*beatOut, error) {
	wait := seconds(in.Body.WaitSeconds)
	s.extendDeadlines(ctx, wait)
	beat, err := s.svc.ReportAlive(ctx, actorIn(ctx), in.ID.ID, in.Body.Hold, in.Body.Waits, wait)
	return &beatOut{Body: beat}, err
}

func (s *Server) apiReportEvents(ctx context.Context, in *linesIn) (*linesOut, error) {
	var p task.Problems
	lines := make([]task.Message, len(in.Body.Events))
	for i, e := range in.Body.Events {
		at := "events[" + task.ID(i).String() + "]"
		p.CheckText(at+".text", e.Text, task.MaxReportText)
		lines[i] = task.Message{Role: task.EventSpeaker(e.Type), Type: e.Type, Content: e.Text}
		if e.Data == nil {
			continue
		}
		data, err := json.Marshal(e.Data)
		if err != nil {
			return nil, err
		}
		p.CheckText(at+".data", string(data), task.MaxReportText)
		lines[i].Data = data
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	next, err := s.svc.ReportEvents(ctx, actorIn(ctx), in.ID.ID, in.Body.Hold, in.Body.From, lines)
	out := &linesOut{}
	out.Body.Next = next
	return out, err
}

func (s *Server) apiReportEnd(ctx context.Context, in *endIn) (*endOut, error) {
	b := in.Body
	f := service.Finished{
		Reason: b.Reason, Summary: b.Summary, Artifacts: b.Artifacts, Permanent: b.Permanent, Work: b.Work.work(), After: seconds(b.After),
		Usage: task.Usage{ToolCalls: b.Usage.ToolCalls, TokensIn: b.Usage.TokensIn, TokensOut: b.Usage.TokensOut, CostUSD: b.Usage.CostUSD},
	}
	if err := checkEnd(f); err != nil {
		return nil, err
	}
	switch {
	case b.Status == "returned":
		return reportAnswer(s.svc.ReportBack(ctx, actorIn(ctx), in.ID.ID, b.Hold))
	case b.Status == "completed":
		f.State, f.Reason = task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}, ""
	case b.Phase == "":
		f.State = task.State{Status: task.RunFailed, Phase: task.PhaseError}
	default:
		f.State = task.State{Status: task.RunFailed, Phase: b.Phase}
	}
	return reportAnswer(s.svc.ReportEnd(ctx, actorIn(ctx), in.ID.ID, b.Hold, f))
}

func checkEnd(f service.Finished) error {
	var p task.Problems
	p.CheckText("reason", f.Reason, 4*task.MaxReason)
	p.CheckText("summary", f.Summary, 4*task.MaxSummaryRun)
	for i, a := range f.Artifacts {
		p.CheckText("artifacts["+task.ID(i).String()+"]", a, task.MaxResource)
	}
	return p.Err()
}
