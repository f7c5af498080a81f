//go:build linux

package supervise_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

func TestTheEnvironmentOfAProgramIsComplete(t *testing.T) {
	t.Setenv("HANDED_ON", "yes")
	t.Setenv("SERVER_SECRET", "no")
	t.Setenv("TASKYARD_MASTER_KEY", "no")
	spec := runnertest.NewSpec(t)
	spec.Token, spec.Plan.Env = "ty_x", []string{"HANDED_ON", "NOT_SET", "TASKYARD_MASTER_KEY", "HOME"}
	c := play("env")
	c.Env = map[string]string{"EXTRA": "1", "TASKYARD_AGENT": "other"}
	out, r := runnertest.Run(t, c, spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	want := []string{
		"EXTRA=1", "HANDED_ON=yes", "HOME=" + spec.Dir + "/home", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH"),
		"TASKYARD_AGENT=coder", "TASKYARD_MODEL=small", "TASKYARD_RUN_ID=" + spec.RunID.String(), "TASKYARD_TASK_ID=7",
		"TASKYARD_TOKEN=[redacted]", "TASKYARD_URL=http://127.0.0.1:1", "TASKYARD_YARD_ID=" + supervise.CurrentInstance(),
		"TERM=dumb", "TMPDIR=" + spec.Dir + "/tmp",
	}
	if got := r.Texts(supervise.EventText); !slices.Equal(got, want) {
		t.Errorf("environment\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, name := range []string{"home", "tmp", "work"} {
		info, err := os.Stat(filepath.Join(spec.Dir, name))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: got %v, %v", name, info, err)
		}
	}
}
