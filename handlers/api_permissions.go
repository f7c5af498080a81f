package handlers

import (
	"context"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"taskyard/task"
)

// PermissionPath is a run and the number of one of its permissions in the path.
type PermissionPath struct {
	RunPath
	N permissionN `path:"n" doc:"permission.n of the run"`
}

// permissionN is the number of a run's permission, from 1.
type permissionN struct{ int }

// UnmarshalText parses a whole number, at least 1.
func (n *permissionN) UnmarshalText(b []byte) error {
	i, err := strconv.ParseInt(string(b), 10, 32)
	if err != nil || i < 1 {
		return task.FieldErrorf("n", "must be a whole number from 1")
	}
	n.int = int(i)
	return nil
}

// Schema describes it as a decimal string for huma.
func (permissionN) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Pattern: "^[1-9][0-9]*$", Examples: []any{"1"}}
}

type allowIn struct {
	PermissionPath
	optional[allowBody]
}

type allowBody struct {
	Scope task.Scope `json:"scope,omitempty" enum:"once,run" doc:"default once: this call; run: every call of this tool until the run ends"`
}

type denyPermissionIn struct {
	PermissionPath
	Body struct {
		Reason string `json:"reason" doc:"sent to the agent, which continues without the call"`
	}
}

const permissionDesc = "A run that asks for permission is running/permission, with its timeouts paused; `permission` of GET " +
	"/api/runs/{id} shows the tool call. If it has already been decided: 409 `run_already_decided` with the outcome. " +
	"Agents can never decide."

func (s *Server) apiAllowPermission(ctx context.Context, in *allowIn) (shownRun, error) {
	return runAnswer(s.svc.AllowPermission(ctx, actorIn(ctx), in.ID.ID, in.N.int, in.body().Scope))
}

func (s *Server) apiDenyPermission(ctx context.Context, in *denyPermissionIn) (shownRun, error) {
	return runAnswer(s.svc.DenyPermission(ctx, actorIn(ctx), in.ID.ID, in.N.int, in.Body.Reason))
}
