//go:build linux

package codex

import (
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
)

func TestNoRunnerRevealsASecret(t *testing.T) {
	runnertest.CheckNoSecrets(t, map[string]func(t *testing.T) (supervise.Outcome, *runnertest.Recorder){
		"codex": func(t *testing.T) (supervise.Outcome, *runnertest.Recorder) {
			s := readingSpec(t)
			s.Plan.Env = []string{runnertest.LoginName}
			return runnertest.Run(t, codexSays(lines(codexBegin,
				`{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":`+runnertest.Secrets+
					`,"aggregated_output":`+runnertest.Secrets+`,"exit_code":3,"status":"failed"}}`,
				`{"type":"item.completed","item":{"id":"i3","type":"file_change","changes":[{"path":`+
					runnertest.Secrets+`,"kind":"add"}],"status":"completed"}}`,
				`{"type":"item.completed","item":{"id":"i9","type":"agent_message","text":`+runnertest.Secrets+`}}`, codexEnd)), s)
		},
		"codex that fails": func(t *testing.T) (supervise.Outcome, *runnertest.Recorder) {
			s := readingSpec(t)
			s.Plan.Env = []string{runnertest.LoginName}
			return runnertest.Run(t, codexSays(lines(codexBegin, `{"type":"turn.failed","error":{"message":`+runnertest.Secrets+`}}`)+"exit 1"), s)
		},
	})
}
