package handlers

import (
	"context"
	"strings"

	"taskyard/task"
)

type meOutBody struct {
	Name   string    `json:"name" doc:"agent id or user:NAME"`
	Role   task.Role `json:"role" enum:"agent,viewer,operator,reviewer,admin"`
	Scope  string    `json:"scope" doc:"the scope of the token: agent:ID, read, operate, review or admin, optionally with act-as"`
	Agent  string    `json:"agent,omitempty" doc:"the agent that the token speaks for"`
	RunID  task.ID   `json:"runId,omitzero" doc:"the run that the token is bound to"`
	UserID task.ID   `json:"userId,omitzero" doc:"the person, if it is one"`
}

func (s *Server) apiMe(ctx context.Context, _ *struct{}) (meOutBody, error) {
	a := actorIn(ctx)
	b := meOutBody{Name: a.Name, Role: a.Role, Scope: actorScope(a), RunID: a.RunID, UserID: a.UserID}
	if a.IsAgent() {
		b.Agent = a.Name
	}
	return b, nil
}

// actorScope returns the token scope that is equivalent to the caller's rights.
func actorScope(a task.Actor) string {
	var scopes []string
	if a.IsAgent() {
		scopes = append(scopes, "agent:"+a.Name)
	}
	for scope, role := range task.Scopes {
		if role == a.Role {
			scopes = append(scopes, scope)
		}
	}
	if a.ActAs {
		scopes = append(scopes, "act-as")
	}
	return strings.Join(scopes, " ")
}
