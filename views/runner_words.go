package views

import "taskyard/task"

// runnerState says by colour and word whether a runner can start anything.
func runnerState(r *task.RunnerInfo) (class, words string) {
	switch {
	case r.Probing:
		return "", "Looking…"
	case r.ProbedAt == 0:
		return "", "Not looked at yet"
	case !r.Installed && r.Kind == "builtin":
		return "warn", "Not configured"
	case !r.Installed:
		return "bad", "Not installed"
	case r.Problem != "":
		return "warn", "Ready, it seems"
	case r.Kind == "worker":
		return "", "Elsewhere"
	}
	return "ok", "Ready"
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
