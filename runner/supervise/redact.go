package supervise

import (
	"os"
	"strings"

	"taskyard/task"
)

// NewRedactor is the only place that decides what is redacted in the records of
// a run: its token, the server's secrets, and the variables in its definition's
// env.
func NewRedactor(spec Spec) *task.Redactor {
	secrets := append([]string{spec.Token}, spec.Secrets...)
	return task.NewRedactor(append(secrets, SecretsNamed(spec.Plan.Env)...)...)
}

// minSecret is the minimum length of a secret in bytes: redacting shorter
// values would remove common words.
const minSecret = 8

// secretsIn returns the values of variables whose names mark them as secret.
func secretsIn(env []string) (list []string) {
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if len(value) >= minSecret && task.IsSecretName(name) {
			list = append(list, value)
		}
	}
	return list
}

// SecretsNamed returns the values, in this process, of the variables that a
// definition's env names. An agent receives them because it needs them and
// others do not have them, so all of them count as secrets except paths.
func SecretsNamed(names []string) (list []string) {
	for _, name := range names {
		value := os.Getenv(name)
		if len(value) >= minSecret && (!strings.HasPrefix(value, "/") || task.IsSecretName(name)) {
			list = append(list, value)
		}
	}
	return list
}
