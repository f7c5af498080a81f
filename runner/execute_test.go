package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// writer is a runner whose agent writes a file in its working folder.
type writer struct {
	work        string // the working folder
	mayOnlyRead bool   // as the spec says
	readOnly    bool   // whether the runner can prevent writing
}

func (w *writer) Probe(context.Context) supervise.Probe { return supervise.Probe{} }

func (w *writer) EnforcesReadOnly() bool { return w.readOnly }

func (w *writer) Run(_ context.Context, spec supervise.Spec, _ supervise.Sink) (supervise.Outcome, error) {
	w.work, w.mayOnlyRead = supervise.NewRun(spec, nil).Work, spec.Plan.ReadOnly
	if err := os.MkdirAll(w.work, 0o700); err != nil {
		return supervise.Outcome{}, err
	}
	return supervise.Outcome{Status: task.RunCompleted, Phase: task.PhaseEnded}, os.WriteFile(filepath.Join(w.work, "written"), nil, 0o600)
}

func TestWhichFoldersADelegatedRunShares(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		workspace, folder  string // of the plan; of the delegating run
		readOnly, enforces bool
		shares             bool
	}{
		"the private folder of the other run":              {folder: "run-1-1", shares: true},
		"not a folder on another machine":                  {folder: "run-7-1"},
		"not an unknown folder":                            {},
		"read-only, if the runner can enforce it":          {folder: "run-1-1", readOnly: true, enforces: true, shares: true},
		"not read-only, if the runner cannot":              {folder: "run-1-1", readOnly: true},
		"no folder that is planned on another machine":     {workspace: "/nowhere/at/all", folder: "run-7-1"},
		"no repository that is planned on another machine": {workspace: "worktree:/nowhere/at/all", folder: "run-7-1"},
	} {
		t.Run(name, func(t *testing.T) {
			runs := t.TempDir()
			testkit.NoError(t, os.MkdirAll(filepath.Join(runs, "run-1-1", "work"), 0o700))
			spec := supervise.Spec{RunID: 2, Dir: filepath.Join(runs, "run-2-1"), RunFolders: task.RunFolders{Shared: c.folder}}
			spec.Plan = task.Spec{Workspace: c.workspace, SharedRun: 1, ReadOnly: c.readOnly}
			w, r := &writer{readOnly: c.enforces}, &runnertest.Recorder{}
			out, err := Execute(t.Context(), w, spec, r)
			if err != nil || out.Status != task.RunCompleted {
				t.Fatalf("%+v, %v", out, err)
			}
			want := filepath.Join(runs, "run-2-1", "work")
			if c.shares {
				want = filepath.Join(runs, "run-1-1", "work")
			}
			if w.work != want {
				t.Errorf("it worked in %s, want %s", w.work, want)
			}
			if w.mayOnlyRead != (c.shares && c.readOnly) {
				t.Errorf("got read-only = %t", w.mayOnlyRead)
			}
			if said := strings.Join(r.Texts(supervise.EventLog), ""); strings.Contains(said, "It works apart from run 1") == c.shares {
				t.Errorf("got the log %q", said)
			}
		})
	}
}
