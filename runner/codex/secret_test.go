//go:build linux

package codex

import (
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
)

func TestNoRunnerRevealsASecret(t *testing.T) {
	runnertest.CheckNoSecrets(t, readingSpec, map[string]runnertest.SecretRun{
		"codex": func(t *testing.T, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
			return runnertest.Run(t, codexSays(lines(codexBegin,
				`{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":`+runnertest.Secrets+
					`,"aggregated_output":`+runnertest.Secrets+`,"exit_code":3,"status":"failed"}}`,
				`{"type":"item.completed","item":{"id":"i3","type":"file_change","changes":[{"path":`+
					runnertest.Secrets+`,"kind":"add"}],"status":"completed"}}`,
				`{"type":"item.completed","item":{"id":"i9","type":"agent_message","text":`+runnertest.Secrets+`}}`, codexEnd)), spec)
		},
		"codex that fails": func(t *testing.T, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
			failed := `{"type":"turn.failed","error":{"message":` + runnertest.Secrets + `}}`
			return runnertest.Run(t, codexSays(lines(codexBegin, failed)+"exit 1"), spec)
		},
	})
}
