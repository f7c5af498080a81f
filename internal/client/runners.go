package client

import (
	"taskyard/task"
)

// RunnerList lists the runners.
type RunnerList struct {
	Probe bool `help:"Check all runners again; the results follow when they are ready. For admins."`
}

// Run lists the runners: whether each can start, and what it enforces.
func (c *RunnerList) Run(e *Env) error {
	method, path := "GET", "/api/runners"
	if c.Probe {
		method, path = "POST", "/api/runners/probe"
	}
	return printCall(e, method, path, nil, func(out *struct{ Runners []task.RunnerInfo }) {
		for i := range out.Runners {
			r := &out.Runners[i]
			e.say("%s (%s)", printable(r.Name), printable(r.Kind))
			e.showRunner(r)
		}
	})
}

// showRunner prints the info of a runner.
func (e *Env) showRunner(r *task.RunnerInfo) {
	enforced := "not enforced: "
	if r.EnforcesTools {
		enforced = "enforced: "
	}
	probed := "not yet"
	if r.ProbedAt != 0 {
		probed = at(r.ProbedAt)
	}
	if r.Probing {
		probed += ", and now"
	}
	fields(e.Stdout, "state", runnerState(r), "version", r.Version, "problem", r.Problem, "remedy", r.Remedy, "program", r.Path,
		"tools", enforced+r.Tools, "shell", r.Shell, "network", r.Network, "checked", probed)
}

func runnerState(r *task.RunnerInfo) string {
	if r.Problem != "" && r.State() == "ready" {
		return "probably ready"
	}
	return map[string]string{"ready": "ready", "missing": "cannot start anything", "unknown": "not checked yet"}[r.State()]
}

func describePause(p *task.Pause) string {
	if p == nil {
		return ""
	}
	what := "by "
	if p.Agent == "" {
		what = "with the whole instance, by "
	}
	return what + p.By + " since " + at(p.Since) + ": " + p.Brief()
}
