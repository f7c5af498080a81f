package views

import "taskyard/task"

// runnerState says by color and word whether a runner can start anything.
func runnerState(r *task.RunnerInfo) (class, words string) {
	switch {
	case r.Probing:
		return "", "Checking…"
	case r.ProbedAt == 0:
		return "", "Not checked yet"
	case !r.Installed:
		return notReady(r.Kind)
	case r.Problem != "":
		return "warn", "Probably ready"
	}
	return "ok", "Ready"
}

// notReady says what a runner of a kind lacks.
func notReady(kind string) (class, words string) {
	switch kind {
	case "builtin", "webhook":
		return "warn", "Not configured"
	case "worker":
		return "warn", "No worker"
	}
	return "bad", "Not installed"
}

// runnerWords names the kind of a runner and the version of its program.
func runnerWords(r *task.RunnerInfo) string {
	words := map[string]string{
		"builtin": "Built-in agent", "claude": "Claude Code", "codex": "Codex", "acp": "Agent Client Protocol",
		"command": "Any program", "webhook": "Webhook", "worker": "Workers on other machines",
	}[r.Kind]
	if r.Version != "" {
		return words + ", " + r.Version
	}
	return words
}
