//go:build linux

package command

import (
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
)

func TestNoRunnerRevealsASecret(t *testing.T) {
	inTwo := `printf '%s' "$TEST_DEPLOY_LOGIN" | head -c 7; sleep 0.4; printf '%s' "$TEST_DEPLOY_LOGIN" | tail -c +8; echo`
	says := `echo "plain $TEST_DEPLOY_LOGIN"; echo "on stderr $TEST_DEPLOY_LOGIN $TASKYARD_TOKEN" >&2; printf '%s' "$TEST_DEPLOY_LOGIN" | base64 -w0; echo; printf 'user:%s' "$TEST_DEPLOY_LOGIN" | base64 -w0; echo; ` + inTwo + "\ncat <<'EOF'\n" +
		`{"type":"tool_call","text":` + runnertest.Secrets + `,"data":{"command":` + runnertest.Secrets + `}}` + "\nEOF\n"
	runnertest.CheckNoSecrets(t, runnertest.NewSpec, map[string]runnertest.SecretRun{
		"command": func(t *testing.T, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
			return runnertest.Run(t, sh(says+"cat <<'EOF'\n"+`{"summary":`+runnertest.Secrets+
				`,"success":true,"artifacts":[`+runnertest.Secrets+`]}`+"\nEOF"), spec)
		},
		"command that fails": func(t *testing.T, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
			return runnertest.Run(t, sh(says+"exit 3"), spec)
		},
	})
}
