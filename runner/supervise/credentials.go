package supervise

import (
	"taskyard/internal/lazyregexp"
	"taskyard/task"
)

var unauthorized = lazyregexp.New(`(?i)\b40[13] (unauthorized|forbidden)|incorrect api key|invalid_api_key|invalid api ` +
	`key|missing environment variable|not logged in|codex login|authentication required|token (has )?expired`)

// IsCredentialError reports whether an agent's error message says that its
// model rejected the credentials.
func IsCredentialError(text string) bool { return unauthorized().MatchString(text) }

// RefusedCredentials returns the outcome of such a run.
func RefusedCredentials(reason string) Outcome {
	return Permanent(task.PhaseAuth, "The model provider refused the credentials: "+reason)
}
