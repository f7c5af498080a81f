//go:build linux

package acp

import (
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
)

func TestNoRunnerRevealsASecret(t *testing.T) {
	runnertest.CheckNoSecrets(t, runnertest.NewSpec, map[string]runnertest.SecretRun{
		"in chunks": func(t *testing.T, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
			return runnertest.Run(t, agent("leak"), spec)
		},
		"one that fails": func(t *testing.T, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
			return runnertest.Run(t, agent("leak", "error"), spec)
		},
	})
}
