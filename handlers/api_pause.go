package handlers

import (
	"context"

	"taskyard/task"
)

type pauseIn struct {
	Body struct {
		Agent  string `json:"agent,omitempty" doc:"agent id; absent: the whole server"`
		Reason string `json:"reason" doc:"why, for everybody who finds it paused; 1 byte to 64 KiB"`
	}
}

type resumeIn struct {
	optional[resumeBody]
}

type resumeBody struct {
	Agent  string `json:"agent,omitempty" doc:"agent id; absent: the whole server"`
	Reason string `json:"reason,omitempty" doc:"at most 64 KiB"`
}

type stopIn struct {
	Body struct {
		Reason string `json:"reason" doc:"why, for everybody who finds it stopped; 1 byte to 64 KiB"`
	}
}

type pausesOut struct {
	Body struct {
		Pauses task.Pauses `json:"pauses" doc:"what is paused now, the whole server first"`
	}
}

func pausesAnswer(list task.Pauses, err error) (*pausesOut, error) {
	if err != nil {
		return nil, err
	}
	out := &pausesOut{}
	out.Body.Pauses = list
	return out, nil
}

type stoppedOut struct {
	Body task.Stopped
}

const pauseDesc = "Nothing of it is dispatched and nobody signs up (409 `paused`); " +
	"ticks skip it, wakes queue runs that start at the resume. " +
	"Running runs, claims, comments and completing continue. It survives restarts. What is paused already is a 409."

func (s *Server) pauseOperations() {
	handle(s, op{
		Method: "GET", Path: "/api/pauses", Need: task.Read, Tag: "Pause",
		Summary: "List what is paused, by whom, since when and why",
	}, func(ctx context.Context, _ *struct{}) (*pausesOut, error) {
		return pausesAnswer(s.svc.Pauses(ctx, actorIn(ctx)))
	})
	handle(s, op{
		Method: "POST", Path: "/api/pause", Need: task.Person, Tag: "Pause", Summary: "Pause the whole server or one agent",
		Desc: pauseDesc,
	}, func(ctx context.Context, in *pauseIn) (*pausesOut, error) {
		return pausesAnswer(s.svc.Pause(ctx, actorIn(ctx), in.Body.Agent, in.Body.Reason))
	})
	handle(s, op{
		Method: "POST", Path: "/api/resume", Need: task.Person, Tag: "Pause",
		Summary: "End the pause of the whole server or of one agent",
	}, func(ctx context.Context, in *resumeIn) (*pausesOut, error) {
		b := in.body()
		return pausesAnswer(s.svc.Resume(ctx, actorIn(ctx), b.Agent, b.Reason))
	})
	handle(s, op{
		Method: "POST", Path: "/api/stop-everything", Need: task.Person, Tag: "Pause",
		Summary: "Pause the whole server and end every running run",
		Desc: "The runs are canceled at once, their processes are gone within 10 s. Runs that are queued or wait for " +
			"approval stay, and start after a resume at the soonest.",
	}, func(ctx context.Context, in *stopIn) (*stoppedOut, error) {
		out, err := s.svc.StopEverything(ctx, actorIn(ctx), in.Body.Reason)
		return &stoppedOut{out}, err
	})
}
