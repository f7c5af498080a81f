// Package runner starts and supervises agents. registry.go has an entry for
// each kind of runner. Each kind is a separate package on top of supervise,
// which starts programs, enforces their limits and records the transcript.
// Execute executes a run with its workspace; a Prober finds out which runners
// can start.
package runner

import "taskyard/runner/supervise"

// IsRemote reports whether the agents of a runner work on another machine.
func IsRemote(r supervise.Runner) bool {
	remote, ok := r.(supervise.Remote)
	return ok && remote.Remote()
}
