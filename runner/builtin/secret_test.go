//go:build linux

package builtin

import (
	"testing"

	"taskyard/runner/builtin/model/modeltest"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
)

func TestNoRunnerRevealsASecret(t *testing.T) {
	both := "It is " + runnertest.Login + " and ty_token-of-this-run"
	runnertest.CheckNoSecrets(t, newSpec, map[string]runnertest.SecretRun{
		"built-in": func(t *testing.T, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
			l := newLoop(t, "anthropic",
				modeltest.Step{
					Text:  "It is " + both,
					Calls: []modeltest.Call{{Name: "create", Args: `{"path":"key.txt","content":` + runnertest.Secrets + `}`}},
				},
				calls("read", `{"path":"key.txt"}`), calls("read", `{"path":`+runnertest.Secrets+`}`),
				modeltest.Step{Text: both}, modeltest.Step{Text: "I found " + both},
			)
			return l.play(t, spec)
		},
	})
}
