package views

import "taskyard/task"

// runnerState returns by color and word whether a runner can start.
func runnerState(r *task.RunnerInfo) (class, words string) {
	switch {
	case r.Probing:
		return "", "Checking…"
	case r.ProbedAt == 0:
		return "", "Not checked yet"
	case !r.Installed:
		return notReady(r.Lack)
	case r.Problem != "":
		return "warn", "Probably ready"
	}
	return "ok", "Ready"
}

// notReady describes what a runner lacks.
func notReady(lack task.RunnerLack) (class, words string) {
	switch lack {
	case task.LacksConfiguration:
		return "warn", "Not configured"
	case task.LacksWorker:
		return "warn", "No worker"
	}
	return "bad", "Not installed"
}

// runnerNote explains why an agent is not started, "" if it is.
func runnerNote(a *task.Agent, r *task.RunnerInfo) string {
	switch {
	case a.PullOnly && a.PullReason != "":
		return capitalize(a.PullReason) + "."
	case r != nil && r.Kind == "worker":
		return "It cannot work on projects with a repository, which workers cannot reach."
	}
	return ""
}

// runnerText returns the kind of a runner and the version of its program.
func runnerText(r *task.RunnerInfo) string {
	if r.Version != "" {
		return r.Title + ", " + r.Version
	}
	return r.Title
}
