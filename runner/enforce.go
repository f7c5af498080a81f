package runner

import (
	"taskyard/runner/enforce"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// enforcer is a Runner that knows what it enforces.
type enforcer interface {
	Enforcement(plan task.Spec) enforce.Levels
}

// Enforces lists the tools and limits of a spec, each once, and whether the
// runner enforces them. A nil runner executes elsewhere, like a worker: then
// nothing is known to be enforced.
func Enforces(r supervise.Runner, plan task.Spec) []task.Enforcement {
	if known, ok := r.(enforcer); ok {
		return known.Enforcement(plan).List(plan)
	}
	partly := enforce.Partly("decided on the worker that starts it, not here")
	return enforce.Levels{
		Tool: enforce.SameForAll(partly), Files: partly, Network: partly,
		Time: enforce.Yes("the worker ends it, and its lease"), Tokens: partly, Turns: partly, Cost: partly,
	}.List(plan)
}
