package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"taskyard/runner/supervise"
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
		return supervise.Canceled(context.Cause(ctx)), nil
	}
	if why := notShared(r, spec); why != "" {
		repository, tree := task.WorktreeOf(spec.Plan.Workspace)
		if !tree || supervise.CheckWorkspace(repository) != nil {
			spec.Plan.Workspace = "" // it was named for the machine of the other run
		}
		spec.Shared, spec.Plan.ReadOnly = "", false // what it gets is its own
		sink.Event(Event{Type: EventLog, Text: "It works apart from run " + spec.Plan.SharedRun.String() + ", which delegated it: " + why + "."})
	}
	space, err := workspace.Open(ctx, spaceOf(spec))
	var no *workspace.UnusableError
	switch {
	case errors.As(err, &no):
		return supervise.Permanent(task.PhaseError, task.CleanText(no.Reason)), nil
	case ctx.Err() != nil && err != nil:
		return supervise.Canceled(context.Cause(ctx)), nil
	case err != nil:
		return supervise.Failed(task.PhaseError, "The workspace could not be prepared"), err
	}
	if folder := space.Folder(); folder != "" {
		spec.Plan.Workspace = folder
	}
	out, err := r.Run(ctx, spec, sink)
	if out.Status == task.RunCanceled && out.Phase == task.PhaseShutdown {
		space.Suspend() // the run continues when the server is back
		return out, err
	}
	out.Work = space.Close(context.WithoutCancel(ctx), out.Status == task.RunCompleted)
	return out, err
}

// readOnlyRunner is a Runner that keeps an agent without tools that write from
// writing into its workspace.
type readOnlyRunner interface{ EnforcesReadOnly() bool }

// notShared returns why a run that shares the workspace of another cannot,
// "" if it can or shares none.
func notShared(r Runner, spec Spec) string {
	if spec.Plan.SharedRun == 0 {
		return ""
	}
	if info, err := os.Stat(sharedDir(spec)); spec.Shared == "" || err != nil || !info.IsDir() {
		return "the workspace of that run is not on this machine, or was removed"
	}
	if k, ok := r.(readOnlyRunner); spec.Plan.ReadOnly && (!ok || !k.EnforcesReadOnly()) {
		return "this runner cannot keep it from writing there"
	}
	return ""
}

// sharedDir is the private folder of the run whose workspace a run shares.
func sharedDir(spec Spec) string { return filepath.Join(filepath.Dir(spec.Dir), spec.Shared) }

// Salvage keeps and returns what an interrupted run, whose server or worker
// stopped, left in its worktree; nil if it left nothing.
func Salvage(ctx context.Context, spec Spec) *task.Work {
	return workspace.Salvage(ctx, spaceOf(spec))
}

func spaceOf(spec Spec) workspace.Options {
	o := workspace.Options{
		Run: spec.RunID, Origin: spec.Origin, Lease: spec.Lease, Agent: spec.Plan.Agent,
		Workspace: spec.Plan.Workspace, Dir: spec.Dir, Redact: supervise.NewRedactor(spec).Text,
	}
	if o.Origin == 0 {
		o.Origin = spec.RunID
	}
	if spec.Shared != "" {
		o.SharedRun, o.Shared, o.SharedTree, o.ReadOnly = spec.Plan.SharedRun, sharedDir(spec), spec.SharedTree, spec.Plan.ReadOnly
	}
	return o
}
