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
	runnertest.CheckNoSecrets(t, map[string]func(t *testing.T) (supervise.Outcome, *runnertest.Recorder){
		"webhook": func(t *testing.T) (supervise.Outcome, *runnertest.Recorder) {
			s := hookSpec(t)
			s.Plan.Env = []string{runnertest.LoginName}
			return hook(t, t.Context(), receiver(t, func(rw http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(rw, `{"summary":`+runnertest.Secrets+`,"success":true,"artifacts":[`+runnertest.Secrets+`]}`)
			}), s)
		},
		"webhook that fails": func(t *testing.T) (supervise.Outcome, *runnertest.Recorder) {
			s := hookSpec(t)
			s.Plan.Env = []string{runnertest.LoginName}
			return hook(t, t.Context(), receiver(t, func(rw http.ResponseWriter, _ *http.Request) {
				rw.WriteHeader(http.StatusBadGateway)
				fmt.Fprint(rw, runnertest.Login+" and ty_token-of-this-run")
			}), s)
		},
	})
}
