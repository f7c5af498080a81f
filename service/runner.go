package service

import (
	"cmp"

	"taskyard/task"
)

// Runner is what the service knows of a configured runner. The zero value is
// one that is not configured.
type Runner struct {
	task.RunnerTraits
	Executor  any      // a runner.Runner, with which package jobs executes its runs; nil: this server cannot
	Worker    bool     // workers execute its runs
	Labels    []string // that such a worker must offer
	Converses bool     // its runs can begin with the conversation of former ones

	// What it uses where an agent's definition says nothing: known here, so that
	// reviewers see it.
	Model, Workspace string
}

// runner returns the runner of a name as it is configured now. What depends on
// several of its fields asks once: the next answer may be another one.
func (s *Service) runner(name string) Runner { return s.config().Runner(name) }

// runTraits returns what the runner of a run was when the run started. Runs that
// an earlier version started, as during a rolling upgrade, do not say.
func (s *Service) runTraits(r *task.Run) task.RunnerTraits {
	switch {
	case r.Spec == nil:
		return task.RunnerTraits{}
	case r.Spec.Traits.Kind == "":
		return s.runner(r.Spec.Runner).RunnerTraits
	}
	return r.Spec.Traits
}

// runModel returns the model of a run of an agent; ask may be nil.
func (r Runner) runModel(def task.Agent, ask *task.Ask) string {
	model := cmp.Or(def.Model, r.Model)
	if ask != nil {
		model = cmp.Or(ask.Model, model)
	}
	return model
}
