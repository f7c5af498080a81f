// Package runner starts agents and watches over them. registry.go has an entry
// for each kind of runner; each kind is a package of its own over supervise,
// which starts programs, keeps their limits and the transcript. Execute
// executes a run, with its workspace; a Prober looks at what can be started.
package runner

import "taskyard/runner/supervise"

// IsRemote reports whether the agent of a runner works on another machine.
func IsRemote(r supervise.Runner) bool {
	remote, ok := r.(supervise.Remote)
	return ok && remote.Remote()
}
