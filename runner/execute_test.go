package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// writer is a runner whose agent writes a file where it works.
type writer struct {
	work        string // where that was
	mayOnlyRead bool   // as it was told
	readOnly    bool   // it can be kept from writing
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

func TestADelegatedRunSharesOnlyWhatItCan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		workspace, folder  string // as planned; of the run that delegated it
		readOnly, enforces bool
		shares             bool
	}{
		"the private folder of the other run":              {folder: "run-1-1", shares: true},
		"not one that is on another machine":               {folder: "run-7-1"},
		"not one that is not known":                        {},
		"to read, where the runner can hold it to that":    {folder: "run-1-1", readOnly: true, enforces: true, shares: true},
		"not to read, where the runner cannot":             {folder: "run-1-1", readOnly: true},
		"no folder that is named for another machine":      {workspace: "/nowhere/at/all", folder: "run-7-1"},
		"no repository that is not on this machine either": {workspace: "worktree:/nowhere/at/all", folder: "run-7-1"},
	} {
		t.Run(name, func(t *testing.T) {
			runs := t.TempDir()
			if err := os.MkdirAll(filepath.Join(runs, "run-1-1", "work"), 0o700); err != nil {
				t.Fatal(err)
			}
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
				t.Errorf("it works in %s, want %s", w.work, want)
			}
			if w.mayOnlyRead != (c.shares && c.readOnly) {
				t.Errorf("it may only read there: %t", w.mayOnlyRead)
			}
			if said := strings.Join(r.Texts(supervise.EventLog), ""); strings.Contains(said, "It works apart from run 1") == c.shares {
				t.Errorf("its transcript says %q", said)
			}
		})
	}
}
