package runner

import (
	"context"
	"errors"

	"taskyard/runner/workspace"
	"taskyard/task"
)

// Execute executes a run: it prepares the workspace, starts the runner, and
// adds to the outcome what changed in the workspace. The run of a
// Remote runner gets no workspace.
func Execute(ctx context.Context, r Runner, spec Spec, sink Sink) (Outcome, error) {
	if IsRemote(r) {
		return r.Run(ctx, spec, sink)
	}
	if ctx.Err() != nil {
		return canceled(context.Cause(ctx)), nil
	}
	space, err := workspace.Open(ctx, spaceOf(spec))
	var no *workspace.UnusableError
	switch {
	case errors.As(err, &no):
		return permanently(clean(no.Reason)), nil
	case ctx.Err() != nil && err != nil:
		return canceled(context.Cause(ctx)), nil
	case err != nil:
		return failed(task.PhaseError, "The workspace could not be prepared"), err
	}
	if folder := space.Folder(); folder != "" {
		spec.Plan.Workspace = folder
	}
	out, err := r.Run(ctx, spec, sink)
	if out.Status == task.RunCanceled && out.Phase == task.PhaseShutdown {
		space.Suspend() // the run continues when the server is back
		return out, err
	}
	out.Work = space.Close(context.WithoutCancel(ctx))
	return out, err
}

// Salvage keeps and returns what an interrupted run, whose server or worker
// stopped, left in its worktree; nil if it left nothing.
func Salvage(ctx context.Context, spec Spec) *task.Work {
	return workspace.Salvage(ctx, spaceOf(spec))
}

func spaceOf(spec Spec) workspace.Options {
	origin := spec.Origin
	if origin == 0 {
		origin = spec.RunID
	}
	return workspace.Options{
		Run: spec.RunID, Origin: origin, Lease: spec.Lease, Agent: spec.Plan.Agent,
		Workspace: spec.Plan.Workspace, Dir: spec.Dir, Redact: newRedactor(spec).Text,
	}
}
