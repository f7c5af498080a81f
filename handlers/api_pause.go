package handlers

import (
	"context"

	"taskyard/task"
)

type pauseIn struct {
	Body struct {
		Agent  string `json:"agent,omitempty" doc:"agent id; absent: the whole server"`
		Reason string `json:"reason" doc:"why, for everyone who finds it paused; 1 byte to 64 KiB"`
	}
}

type resumeIn struct {
	optional[resumeBody]
}

type resumeBody struct {
	Agent  string `json:"agent,omitempty" doc:"agent id; absent: the whole server"`
	Reason string `json:"reason,omitempty" doc:"at most 64 KiB"`

	Restart bool `json:"restart,omitempty" doc:"only for the whole server: restart the runs that stop-everything canceled"`
}

type stopIn struct {
	Body struct {
		Reason string `json:"reason" doc:"why, for everyone who finds it stopped; 1 byte to 64 KiB"`
	}
}

type pausesOutBody struct {
	Pauses task.Pauses `json:"pauses" doc:"what is paused now, with the whole server first"`
}

func pausesAnswer(list task.Pauses, err error) (pausesOutBody, error) {
	return pausesOutBody{list}, err
}

const pauseDesc = "Runs are not dispatched and agents cannot sign up (409 `paused`); " +
	"ticks are skipped, and wakes queue runs that start after the resume. Active runs continue, and agents can still renew claims, " +
	"comment and complete tasks. A pause survives restarts. Pausing what is already paused returns 409."

func (s *Server) apiPauses(ctx context.Context, _ *struct{}) (pausesOutBody, error) {
	return pausesAnswer(s.svc.Pauses(ctx, actorIn(ctx)))
}

func (s *Server) apiPause(ctx context.Context, in *pauseIn) (pausesOutBody, error) {
	return pausesAnswer(s.svc.Pause(ctx, actorIn(ctx), in.Body.Agent, in.Body.Reason))
}

func (s *Server) apiResume(ctx context.Context, in *resumeIn) (task.Restarted, error) {
	b := in.body()
	if b.Restart && b.Agent != "" {
		return task.Restarted{}, task.FieldErrorf("restart", "is for the whole server: leave agent out")
	}
	if b.Restart {
		return s.svc.ResumeAndRestart(ctx, actorIn(ctx), b.Reason)
	}
	list, err := s.svc.Resume(ctx, actorIn(ctx), b.Agent, b.Reason)
	return task.Restarted{Pauses: list}, err
}

func (s *Server) apiStopEverything(ctx context.Context, in *stopIn) (task.Stopped, error) {
	return s.svc.StopEverything(ctx, actorIn(ctx), in.Body.Reason)
}
