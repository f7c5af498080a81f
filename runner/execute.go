package runner

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"taskyard/runner/check"
	"taskyard/runner/supervise"
	"taskyard/runner/workspace"
	"taskyard/task"
)

// Execute executes a run: it prepares the workspace, starts the runner, and
// adds to the outcome what changed in the workspace. The run of a
// Remote runner gets no workspace.
func Execute(ctx context.Context, r supervise.Runner, spec supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	if IsRemote(r) {
		return r.Run(ctx, spec, sink)
	}
	if ctx.Err() != nil {
		return supervise.Canceled(context.Cause(ctx)), nil
	}
	if why := notShared(r, spec); why != "" {
		repository, tree := task.ParseWorktree(spec.Plan.Workspace)
		if !tree || supervise.CheckWorkspace(repository) != nil {
			spec.Plan.Workspace = "" // it exists on the machine of the other run
		}
		spec.Shared, spec.Plan.ReadOnly = "", false // its workspace is not shared
		apart := "It works apart from run " + spec.Plan.SharedRun.String() + ", which delegated it: " + why + "."
		sink.Event(supervise.Event{Type: supervise.EventLog, Text: apart})
	}
	o := workspaceOptions(spec)
	if len(spec.Plan.Setup) > 0 {
		o.Prepare = func(ctx context.Context, folder, home string) error { return setUp(ctx, spec, sink, folder, home) }
	}
	space, err := workspace.Open(ctx, o)
	var no *workspace.UnusableError
	var setup *workspace.SetupError
	switch {
	case errors.As(err, &setup):
		return supervise.Failed(task.PhaseError, task.CleanText(setup.Reason)), nil
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
	spec.Readable = func() []string { return space.Readable(ctx) }
	out, err := r.Run(ctx, spec, sink)
	if out.Status == task.RunCanceled && out.Phase == task.PhaseShutdown {
		space.Suspend() // the run continues after the server has restarted
		return out, err
	}
	out.Work = space.Close(context.WithoutCancel(ctx), out.Status == task.RunCompleted)
	return out, err
}

// setupTime bounds one command that prepares a worktree.
const setupTime = 30 * time.Minute

// setUp runs the commands that prepare a new worktree; their output is part of
// the transcript. They may use the network, to download what the checks need,
// which have no network.
func setUp(ctx context.Context, spec supervise.Spec, sink supervise.Sink, folder, home string) error {
	redact := supervise.NewRedactor(spec).Text
	runner := check.Runner{Redact: redact, Unconfined: spec.Unconfined}
	for _, command := range spec.Plan.Setup {
		sink.Event(supervise.Event{Type: supervise.EventLog, Text: redact("Setup: $ " + command)})
		out := runner.Run(ctx, check.Command{
			Run: command, Folder: folder, Home: home, Network: true, Timeout: setupTime, Task: spec.TaskID,
		})
		for piece := range slices.Chunk([]rune(out.Log), maxEvent) {
			sink.Event(supervise.Event{Type: supervise.EventLog, Text: string(piece)})
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if out.Verdict != task.CheckPassed {
			return &workspace.SetupError{Reason: redact("The setup of the worktree failed: " + command + ": " + out.Reason + lastLine(out.Log))}
		}
	}
	return nil
}

// maxEvent bounds the characters of an event with a part of an output.
const maxEvent = 8000

func lastLine(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + last
	}
	return ""
}

// readOnlyRunner is a Runner that can prevent an agent without writing tools
// from writing to its workspace.
type readOnlyRunner interface{ EnforcesReadOnly() bool }

// notShared returns why a run cannot share another run's workspace, "" if it
// can or does not share one.
func notShared(r supervise.Runner, spec supervise.Spec) string {
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

// sharedDir returns the private folder of the run whose workspace is shared.
func sharedDir(spec supervise.Spec) string { return filepath.Join(filepath.Dir(spec.Dir), spec.Shared) }

// Salvage stores and returns what an interrupted run, whose server or worker
// stopped, left in its worktree, or nil if it left nothing.
func Salvage(ctx context.Context, spec supervise.Spec) *task.Work {
	return workspace.Salvage(ctx, workspaceOptions(spec))
}

func workspaceOptions(spec supervise.Spec) workspace.Options {
	o := workspace.Options{
		Run: spec.RunID, Origin: cmp.Or(spec.Origin, spec.RunID), Lease: spec.Lease, Agent: spec.Plan.Agent,
		Workspace: spec.Plan.Workspace, Dir: spec.Dir, Redact: supervise.NewRedactor(spec).Text,
	}
	if spec.Plan.Branch != "" {
		o.Branch, o.From, o.Title = spec.Plan.Branch, spec.Plan.BranchFrom, spec.Title
	}
	if spec.Shared != "" {
		o.SharedRun, o.Shared, o.SharedTree, o.ReadOnly = spec.Plan.SharedRun, sharedDir(spec), spec.SharedTree, spec.Plan.ReadOnly
	}
	return o
}
