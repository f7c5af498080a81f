//go:build linux

package claude

import (
	"strings"
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
)

func TestNoRunnerRevealsASecret(t *testing.T) {
	runnertest.CheckNoSecrets(t, claudeSpec, map[string]runnertest.SecretRun{
		"claude": func(t *testing.T, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
			return runnertest.Run(t, fake("say "+fakeInit,
				`say {"type":"assistant","message":{"id":"a","content":[{"type":"text","text":`+runnertest.Secrets+
					`},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":`+runnertest.Secrets+`}}]}}`,
				`say {"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":`+
					runnertest.Secrets+`}]}]}}`,
				"say "+strings.Replace(fakeDone, `" All done. "`, runnertest.Secrets, 1), "eof"), spec)
		},
		"claude that fails": func(t *testing.T, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
			return runnertest.Run(t, fake("say "+fakeInit, `say {"type":"result","subtype":"error_during_execution","is_error":true,"result":`+
				runnertest.Secrets+`,"errors":[`+runnertest.Secrets+`]}`, "exit 1"), spec)
		},
	})
}
