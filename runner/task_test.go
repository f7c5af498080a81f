//go:build linux

package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/tools"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// taskSpec returns a run of a task with a branch in its own repository.
func taskSpec(t *testing.T, setup ...string) (spec supervise.Spec, runs, repository string) {
	t.Helper()
	if tools.Level(tools.Options{Network: true}) == "off" {
		t.Skip("nothing on this machine confines a command")
	}
	runs, repository = t.TempDir(), testkit.Repository(t, nil)
	spec = supervise.Spec{RunID: 1, TaskID: 42, Title: "Fix it", Dir: filepath.Join(runs, "run-1-1"), Token: "hush-hush-token"}
	spec.Plan = task.Spec{Agent: "coder", Workspace: "worktree:" + repository, Branch: "taskyard/42-fix", BranchFrom: "main", Setup: setup}
	return spec, runs, repository
}

func TestTheSetupOfAWorktreeIsPartOfTheTranscript(t *testing.T) {
	t.Parallel()
	spec, runs, _ := taskSpec(t, "echo installing hush-hush-token", "echo built > built")
	r := &runnertest.Recorder{}
	w := &writer{}
	out, err := Execute(t.Context(), w, spec, r)
	if err != nil || out.Status != task.RunCompleted || out.Work == nil || out.Work.Branch != "taskyard/42-fix" {
		t.Fatalf("got %+v, %v", out, err)
	}
	said := strings.Join(r.Texts(supervise.EventLog), "\n")
	if want := "Setup: $ echo installing [redacted]\ninstalling [redacted]\n\nSetup: $ echo built > built"; said != want {
		t.Errorf("got\n%s\nwant\n%s", said, want)
	}
	if _, err := os.Stat(filepath.Join(w.work, "built")); err != nil {
		t.Error(err)
	}
	t.Run("and it runs once", func(t *testing.T) {
		spec.RunID, spec.Origin, spec.Dir = 2, 1, filepath.Join(runs, "run-2-1")
		r := &runnertest.Recorder{}
		if out, err := Execute(t.Context(), w, spec, r); err != nil || out.Status != task.RunCompleted || len(r.Texts(supervise.EventLog)) != 0 {
			t.Errorf("got %+v, %v, %q", out, err, r.Texts(supervise.EventLog))
		}
	})
	t.Run("the folder is kept until its task is archived", func(t *testing.T) {
		expired := false
		retire := func() int {
			n, err := Retire(t.Context(), runs, func(list []task.RunFolder) ([]task.RunFolder, error) {
				if !expired {
					list = nil
				}
				return list, nil
			})
			if err != nil {
				t.Error(err)
			}
			return n
		}
		if n := retire(); n != 0 {
			t.Errorf("got %d removed", n)
		}
		expired = true
		retire()
		if left, _ := filepath.Glob(filepath.Join(runs, "tree-*")); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestASetupThatFailsFailsTheRun(t *testing.T) {
	t.Parallel()
	spec, _, _ := taskSpec(t, "echo no such package; exit 3")
	out, err := Execute(t.Context(), &writer{}, spec, &runnertest.Recorder{})
	want := "The setup of the worktree failed: echo no such package; exit 3: exit code 3: no such package"
	if err != nil || out.Status != task.RunFailed || out.Permanent || out.Reason != want {
		t.Errorf("got %+v, %v", out, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(supervise.ErrShutdown)
	if out, err := Execute(ctx, &writer{}, spec, &runnertest.Recorder{}); err != nil || out.Phase != task.PhaseShutdown {
		t.Errorf("got %+v, %v", out, err)
	}
}
