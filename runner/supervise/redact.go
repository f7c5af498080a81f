package supervise

import (
	"os"
	"strings"

	"taskyard/internal/lazyregexp"
	"taskyard/task"
)

// NewRedactor is the one place that decides what no record of a run may show:
// its token, the server's secrets, and what its definition's env names.
func NewRedactor(spec Spec) *task.Redactor {
	secrets := append([]string{spec.Token}, spec.Secrets...)
	return task.NewRedactor(append(secrets, SecretsNamed(spec.Plan.Env)...)...)
}

// secretName fits the names of variables whose values are secrets.
var secretName = lazyregexp.New(`(?i)KEY|TOKEN|SECRET|PASSWORD`)

// minSecret is the length in bytes below which a value is no secret: it would
// blot out common words.
const minSecret = 8

// secretsIn returns the values of an environment whose names say that no
// transcript may show them.
func secretsIn(env []string) (list []string) {
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if len(value) >= minSecret && secretName().MatchString(name) {
			list = append(list, value)
		}
	}
	return list
}

// SecretsNamed returns the values, as this process has them, of the variables
// that a definition's env names. An agent is given them because it needs them
// and others do not have them, so all count as secrets but paths.
func SecretsNamed(names []string) (list []string) {
	for _, name := range names {
		value := os.Getenv(name)
		if len(value) >= minSecret && (!strings.HasPrefix(value, "/") || secretName().MatchString(name)) {
			list = append(list, value)
		}
	}
	return list
}
