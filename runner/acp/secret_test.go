//go:build linux

package acp

import (
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
)

func TestNoRunnerRevealsASecret(t *testing.T) {
	spec := func(t *testing.T) supervise.Spec {
		s := runnertest.NewSpec(t)
		s.Plan.Env = []string{runnertest.LoginName}
		return s
	}
	runnertest.CheckNoSecrets(t, map[string]func(t *testing.T) (supervise.Outcome, *runnertest.Recorder){
		"in chunks": func(t *testing.T) (supervise.Outcome, *runnertest.Recorder) {
			return runnertest.Run(t, agent("leak"), spec(t))
		},
		"one that fails": func(t *testing.T) (supervise.Outcome, *runnertest.Recorder) {
			return runnertest.Run(t, agent("leak", "error"), spec(t))
		},
	})
}
