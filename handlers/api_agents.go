package handlers

import (
	"context"

	"taskyard/task"
)

// AgentLoad says how busy an agent is. It is exported for huma.
type AgentLoad struct {
	Queued   int       `json:"queued" doc:"active tasks without a live claim"`
	Working  int       `json:"working" doc:"active tasks with a live claim"`
	Waiting  int       `json:"waiting" doc:"active tasks that are waiting for people"`
	Failed   int       `json:"failed" doc:"active tasks whose last run failed"`
	Drafts   int       `json:"drafts"`
	OldestAt task.Time `json:"oldestAt,omitzero" doc:"creation of the oldest queued task"`
}

// AgentView is a definition with its load. It is exported because unexported
// embedded types are missing from the OpenAPI document.
type AgentView struct {
	task.Agent
	TimeoutSeconds     int       `json:"timeoutSeconds,omitzero"`
	IdleTimeoutSeconds int       `json:"idleTimeoutSeconds,omitzero"`
	Load               AgentLoad `json:"load"`

	Weaker string      `json:"weaker,omitempty" doc:"what it can do beyond its listed tools because its runner does not enforce them; absent: they are enforced"`
	Pause  *task.Pause `json:"pause,omitempty" doc:"the pause that keeps it from starting and signing up: that of the server, else its own"`
}

func (s *Server) agentView(def task.Agent, load AgentLoad, pauses task.Pauses) AgentView {
	return AgentView{
		Agent: def, TimeoutSeconds: int(def.Timeout.Seconds()), IdleTimeoutSeconds: int(def.IdleTimeout.Seconds()), Load: load,
		Weaker: s.enforcementGap(def.Runner, def.Tools), Pause: pauses.For(def.ID),
	}
}

type agentsOutBody struct {
	Agents  []AgentView       `json:"agents"`
	Runners []task.RunnerInfo `json:"runners" doc:"what each runner can start and enforce, as in GET /api/runners"`
}

type agentOut struct {
	ETag string `header:"ETag"`
	Body struct {
		AgentView
		RunnerInfo *task.RunnerInfo `json:"runnerInfo,omitempty" doc:"problem of its runner"`
		Definition string           `json:"definition" doc:"the text of the file"`
		Served     string           `json:"served,omitempty" doc:"the last valid text, which is in use while the file is invalid"`
	}
}

type saveAgentIn struct {
	AgentPath
	IfMatch string `header:"If-Match" doc:"the ETag that you read"`
	Body    struct {
		Text  string `json:"text" doc:"the whole Markdown file"`
		Force bool   `json:"force,omitzero" doc:"true: save it even if it is invalid"`
	}
}

func (s *Server) apiAgent(ctx context.Context, in *AgentPath) (*agentOut, error) {
	def, err := s.svc.Agent(actorIn(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return s.agentAnswer(ctx, def)
}

func (s *Server) apiDeleteAgent(ctx context.Context, in *AgentPath) (*struct{}, error) {
	return nil, s.svc.DeleteAgent(ctx, actorIn(ctx), in.ID)
}

func (s *Server) apiAgents(ctx context.Context, _ *struct{}) (out agentsOutBody, err error) {
	a := actorIn(ctx)
	list, err := s.svc.Agents(a)
	if err != nil {
		return out, err
	}
	o, err := s.svc.Overview(ctx, a)
	if err != nil {
		return out, err
	}
	pauses, err := s.svc.Pauses(ctx, a)
	for _, def := range list {
		out.Agents = append(out.Agents, s.agentView(def, AgentLoad(o.Loads[def.ID]), pauses))
	}
	out.Runners = s.runners(a)
	return out, err
}

func (s *Server) agentAnswer(ctx context.Context, def task.Agent) (*agentOut, error) {
	a := actorIn(ctx)
	o, err := s.svc.Overview(ctx, a)
	if err != nil {
		return nil, err
	}
	pauses, err := s.svc.Pauses(ctx, a)
	if err != nil {
		return nil, err
	}
	out := &agentOut{ETag: `"` + def.FileHash + `"`}
	out.Body.AgentView, out.Body.Definition = s.agentView(def, AgentLoad(o.Loads[def.ID]), pauses), def.Text
	out.Body.RunnerInfo = s.runner(a, def.Runner)
	if def.FileText != "" {
		out.Body.Definition, out.Body.Served = def.FileText, def.Text
	}
	return out, nil
}

func (s *Server) apiSaveAgent(ctx context.Context, in *saveAgentIn) (*agentOut, error) {
	def, err := s.svc.SaveAgent(ctx, actorIn(ctx), in.ID, in.Body.Text, etagText(in.IfMatch), in.Body.Force)
	if err != nil {
		return nil, err
	}
	return s.agentAnswer(ctx, def)
}
