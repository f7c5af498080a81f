//go:build linux

package webhook

import (
	"fmt"
	"net/http"
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
)

func TestNoRunnerRevealsASecret(t *testing.T) {
	runnertest.CheckNoSecrets(t, hookSpec, map[string]runnertest.SecretRun{
		"webhook": func(t *testing.T, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
			return hook(t, t.Context(), receiver(t, func(rw http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(rw, `{"summary":`+runnertest.Secrets+`,"success":true,"artifacts":[`+runnertest.Secrets+`]}`)
			}), spec)
		},
		"webhook that fails": func(t *testing.T, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
			return hook(t, t.Context(), receiver(t, func(rw http.ResponseWriter, _ *http.Request) {
				rw.WriteHeader(http.StatusBadGateway)
				fmt.Fprint(rw, runnertest.Login+" and ty_token-of-this-run")
			}), spec)
		},
	})
}
