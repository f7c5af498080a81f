//go:build linux

package runnertest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// LoginName is a variable in a definition's env. Its name does not suggest that
// it holds a secret.
const LoginName = "TEST_DEPLOY_LOGIN"

// Login is its value.
const Login = `hun"ter/zebra-crossing <9> ü&`

// Secrets is the value of the variable and the token of NewSpec, encoded as a
// JSON string: what an agent prints in the test.
var Secrets = JSONText(Login + " and ty_token-of-this-run")

// JSONText encodes a text as JSON, without the quotes.
func JSONText(s string) string {
	b, _ := json.Marshal(s) // never fails
	return string(b)
}

// Leaks returns the encoding of a secret that a text contains, or "".
func Leaks(t *testing.T, all ...any) string {
	t.Helper()
	b, err := json.Marshal(all)
	testkit.NoError(t, err)
	for _, form := range []string{
		"zebra-crossing", "token-of-this",
		base64.RawStdEncoding.EncodeToString([]byte(Login)), hex.EncodeToString([]byte(Login)),
	} {
		if bytes.Contains(b, []byte(form)) {
			return form
		}
	}
	return ""
}

// SecretRun runs an agent that prints both secrets wherever it can: text, tools,
// results, log, summary, error. The plan of spec names the variable.
type SecretRun func(t *testing.T, spec supervise.Spec) (supervise.Outcome, *Recorder)

// CheckNoSecrets checks that runs with specs of newSpec reveal no secret. It sets
// the environment, so the test cannot be parallel.
func CheckNoSecrets(t *testing.T, newSpec func(*testing.T) supervise.Spec, runs map[string]SecretRun) {
	t.Setenv(LoginName, Login)
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			spec := newSpec(t)
			spec.Plan.Env = []string{LoginName}
			out, rec := run(t, spec)
			if form := Leaks(t, rec.Events, out); form != "" {
				t.Errorf("%s is in %+v %+v", form, rec.Events, out)
			}
			if all := fmt.Sprintf("%+v %+v", rec.Events, out); !strings.Contains(all, task.Redacted) {
				t.Errorf("nothing was said at all: %s", all)
			}
		})
	}
}
