package handlers

import (
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"taskyard/service"
	"taskyard/task"
)

type leaseBody struct {
	Name        string   `json:"name,omitempty" doc:"name of the machine, at most 100 characters"`
	Labels      []string `json:"labels,omitempty" doc:"what the worker offers; it must have all labels of a runner to execute its runs"`
	Runners     []string `json:"runners,omitempty" doc:"runners that it can execute; default all"`
	ParentRun   task.ID  `json:"parentRun,omitempty" doc:"take only runs that this run delegated: for a worker whose only free slot is that of this waiting run"`
	WaitSeconds int      `json:"waitSeconds,omitempty" minimum:"0" maximum:"50" doc:"how long to wait for a run if there is none"`
}

type leaseIn struct {
	optional[leaseBody]
}

type leaseOutBody struct {
	Run *task.Leased `json:"run" doc:"null when there is none"`
}

// TransformSchema declares for huma that the run may be null.
func (leaseOutBody) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return nullable(s, "run")
}

type holdIn struct {
	RunPath
	Body task.LeaseRef
}

type beatIn struct {
	RunPath
	Body struct {
		task.LeaseRef
		WaitSeconds int  `json:"waitSeconds,omitempty" minimum:"0" maximum:"50" doc:"for workers: hold the response this long, or until the run ends or waits changes"`
		Waits       bool `json:"waits,omitempty" doc:"for workers: the value of waits in the previous response"`
	}
}

type linesIn struct {
	RunPath
	Body struct {
		task.LeaseRef
		From   int64 `json:"from" minimum:"1" doc:"number of the first event, counted from 1 at each start of the run; events that were already received are ignored"`
		Events []struct {
			Type string `json:"type" enum:"text,tool_call,tool_result,usage,permission,log,error"`
			Text string `json:"text,omitempty" doc:"at most 32 KiB"`
			Data any    `json:"data,omitempty" doc:"any JSON value of at most 32 KiB"`
		} `json:"events" maxItems:"100"`
	}
}

type linesOutBody struct {
	Next int64 `json:"next" doc:"number of the next event"`
}

type endIn struct {
	RunPath
	Body struct {
		task.LeaseRef
		Status    string     `json:"status" enum:"completed,failed,returned" doc:"returned is only for workers: it puts the run back into the queue and does not count the attempt"`
		Phase     task.Phase `json:"phase,omitempty" enum:"error,timeout,idle,tokens,cost,turns,crash,protocol,auth" doc:"only for failures; default error"`
		Reason    string     `json:"reason,omitempty" doc:"only for failures, at most 2000 characters"`
		Summary   string     `json:"summary,omitempty" doc:"only for successes, at most 8000 characters"`
		Artifacts []string   `json:"artifacts,omitempty" maxItems:"100" doc:"names of the artifacts"`
		Usage     usageBody  `json:"usage,omitzero"`
		Permanent bool       `json:"permanent,omitempty" doc:"true: a retry would not help"`
		After     int        `json:"retryAfterSeconds,omitempty" minimum:"0" maximum:"86400" doc:"only for failures: seconds until the earliest retry"`
		Work      *workBody  `json:"work,omitempty" doc:"what the run changed in its workspace, as seen by the worker"`
	}
}

type usageBody struct {
	ToolCalls int     `json:"toolCalls,omitempty" minimum:"0" maximum:"1000000000000"`
	TokensIn  int     `json:"tokensIn,omitempty" minimum:"0" maximum:"1000000000000"`
	TokensOut int     `json:"tokensOut,omitempty" minimum:"0" maximum:"1000000000000"`
	CostUSD   float64 `json:"costUsd,omitempty" minimum:"0" maximum:"1000000000"`
}

type endOutBody struct {
	OK bool `json:"ok"`
}

const reportDoc = " For the worker that executes the run, and for the receiver of a webhook " +
	"with the token of the run. If the lease has expired: 409 `stale_lease`."

func (s *Server) apiLease(ctx context.Context, in *leaseIn) (leaseOutBody, error) {
	b := in.body()
	wait := seconds(b.WaitSeconds)
	s.extendDeadlines(ctx, wait)
	run, err := s.svc.LeaseRun(ctx, actorIn(ctx), task.WorkerAsk{
		Name: b.Name, Labels: b.Labels, Runners: b.Runners, Parent: b.ParentRun, Wait: wait,
	})
	return leaseOutBody{run}, err
}

func (s *Server) apiReportWorking(ctx context.Context, in *holdIn) (endOutBody, error) {
	return reportAnswer(s.svc.ReportWorking(ctx, actorIn(ctx), in.ID.ID, in.Body))
}

func reportAnswer(err error) (endOutBody, error) {
	return endOutBody{err == nil}, err
}

func (s *Server) apiReportHeartbeat(ctx context.Context, in *beatIn) (task.Beat, error) {
	wait := seconds(in.Body.WaitSeconds)
	s.extendDeadlines(ctx, wait)
	return s.svc.ReportAlive(ctx, actorIn(ctx), in.ID.ID, in.Body.LeaseRef, in.Body.Waits, wait)
}

func (s *Server) apiReportEvents(ctx context.Context, in *linesIn) (linesOutBody, error) {
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
			return linesOutBody{}, err
		}
		p.CheckText(at+".data", string(data), task.MaxReportText)
		lines[i].Data = data
	}
	if err := p.Err(); err != nil {
		return linesOutBody{}, err
	}
	next, err := s.svc.ReportEvents(ctx, actorIn(ctx), in.ID.ID, in.Body.LeaseRef, in.Body.From, lines)
	return linesOutBody{next}, err
}

func (s *Server) apiReportEnd(ctx context.Context, in *endIn) (endOutBody, error) {
	b := in.Body
	f := service.Finished{
		Reason: b.Reason, Summary: b.Summary, Artifacts: b.Artifacts, Permanent: b.Permanent, Work: b.Work.work(), After: seconds(b.After),
		Usage: task.Usage{ToolCalls: b.Usage.ToolCalls, TokensIn: b.Usage.TokensIn, TokensOut: b.Usage.TokensOut, CostUSD: b.Usage.CostUSD},
	}
	if err := checkEnd(f); err != nil {
		return endOutBody{}, err
	}
	switch {
	case b.Status == "returned":
		return reportAnswer(s.svc.ReportBack(ctx, actorIn(ctx), in.ID.ID, b.LeaseRef))
	case b.Status == "completed":
		f.State, f.Reason = task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}, ""
	case b.Phase == "":
		f.State = task.State{Status: task.RunFailed, Phase: task.PhaseError}
	default:
		f.State = task.State{Status: task.RunFailed, Phase: b.Phase}
	}
	return reportAnswer(s.svc.ReportEnd(ctx, actorIn(ctx), in.ID.ID, b.LeaseRef, f))
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
