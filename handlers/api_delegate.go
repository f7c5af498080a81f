package handlers

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"taskyard/task"
)

type delegateIn struct {
	Body struct {
		Task        string      `json:"task,omitempty" doc:"what to do; the first line becomes the title"`
		Description string      `json:"description,omitempty" doc:"another name for task"`
		AgentType   string      `json:"agentType,omitempty" doc:"agent id; default general-purpose; list: return the available agents instead"`
		Model       string      `json:"model,omitempty" doc:"default: by estimatedComplexity, else the model of the agent, of the caller, or of the provider"`
		Complexity  string      `json:"estimatedComplexity,omitempty" enum:"low,medium,high"`
		StepIndex   *int        `json:"stepIndex,omitempty" doc:"0-based step of the caller's task to link to the subtask"`
		Resources   []int       `json:"resources,omitempty" doc:"0-based indexes of the caller's resources to pass on"`
		Tools       []string    `json:"tools,omitempty" doc:"a subset of the tools that both the agent and the caller have"`
		Limits      task.Limits `json:"limits,omitzero" doc:"tighter limits than those of the agent, and than what is left of the caller's"`
		TaskID      apiID       `json:"taskId,omitempty" doc:"the caller's task; leave it out inside a run"`
		WaitSeconds int         `json:"waitSeconds,omitempty" minimum:"0" maximum:"50" doc:"how long to wait for the end"`
	}
}

// delegation validates what only the API can.
func (in *delegateIn) delegation() (task.Delegation, error) {
	b := in.Body
	if b.Task != "" && b.Description != "" {
		return task.Delegation{}, task.FieldErrorf("description", "is another name of task: send one of them")
	}
	return task.Delegation{
		ParentTask: task.ID(b.TaskID), Task: b.Task + b.Description, AgentType: b.AgentType, Model: b.Model, Complexity: b.Complexity,
		StepIndex: b.StepIndex, Resources: b.Resources, Tools: b.Tools, Limits: b.Limits, Wait: seconds(b.WaitSeconds),
	}, nil
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// delegateBody is the state of a delegation or, for agentType list, the agents.
type delegateBody struct {
	run    *task.Delegated
	agents *agentTypes
}

type agentTypes struct {
	Agents []task.AgentType `json:"agents"`
}

// MarshalJSON writes whichever is set.
func (b delegateBody) MarshalJSON() ([]byte, error) {
	if b.agents != nil {
		return marshalJSON(b.agents)
	}
	return marshalJSON(b.run)
}

// Schema describes both forms for huma.
func (delegateBody) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		r.Schema(reflect.TypeFor[task.Delegated](), true, "Delegated"), r.Schema(reflect.TypeFor[agentTypes](), true, "AgentTypes"),
	}}
}

type delegateOut struct {
	Status int
	Body   delegateBody
}

type delegatedOut struct {
	Status int
	Body   task.Delegated
}

// delegatedAnswer answers 200 if the delegation has ended, otherwise 202.
func delegatedAnswer(d task.Delegated, err error) (*delegatedOut, error) {
	return &delegatedOut{delegatedStatus(d), d}, err
}

func delegatedStatus(d task.Delegated) int {
	if d.Ended() {
		return http.StatusOK
	}
	return http.StatusAccepted
}

type followIn struct {
	RunPath
	WaitSeconds int `query:"waitSeconds" minimum:"0" maximum:"50" doc:"how long to wait for the end"`
}

func (s *Server) apiDelegation(ctx context.Context, in *followIn) (*delegatedOut, error) {
	wait := seconds(in.WaitSeconds)
	s.extendDeadlines(ctx, wait)
	return delegatedAnswer(s.svc.DelegatedRun(ctx, actorIn(ctx), in.ID.ID, wait))
}

func (s *Server) apiStopDelegation(ctx context.Context, in *cancelRunIn) (*delegatedOut, error) {
	return delegatedAnswer(s.svc.StopDelegated(ctx, actorIn(ctx), in.ID.ID, in.body().Reason))
}

func (s *Server) apiDelegate(ctx context.Context, in *delegateIn) (*delegateOut, error) {
	if in.Body.AgentType == task.ListAgents {
		list, err := s.svc.AgentTypes(actorIn(ctx))
		return &delegateOut{http.StatusOK, delegateBody{agents: &agentTypes{list}}}, err
	}
	d, err := in.delegation()
	if err != nil {
		return nil, err
	}
	s.extendDeadlines(ctx, d.Wait)
	got, err := s.svc.Delegate(ctx, actorIn(ctx), d)
	return &delegateOut{delegatedStatus(got), delegateBody{run: &got}}, err
}
