//go:build linux

package runner

import (
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/command"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
)

// TestNoWorkerRevealsASecret: a worker executes the same runners, and also sends
// what changed in the workspace.
func TestNoWorkerRevealsASecret(t *testing.T) {
	runnertest.CheckNoSecrets(t, runnertest.NewSpec, map[string]runnertest.SecretRun{
		"worker": func(t *testing.T, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
			rec := &runnertest.Recorder{}
			sh := &command.Runner{Program: runnertest.Program("/bin/sh", "-c", `echo "plain $TEST_DEPLOY_LOGIN"
echo "on stderr $TEST_DEPLOY_LOGIN $TASKYARD_TOKEN" >&2; echo "$TEST_DEPLOY_LOGIN" > left.txt; echo done`)}
			out, err := Execute(t.Context(), sh, spec, rec)
			testkit.NoError(t, err)
			if out.Work != nil && runnertest.Leaks(t, out.Work.Patch()) != "" {
				t.Errorf("the diff contains it: %s", out.Work.Patch())
			}
			return out, rec
		},
	})
}
