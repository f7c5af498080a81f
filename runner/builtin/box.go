package builtin

import (
	"slices"
	"strings"

	"taskyard/runner/builtin/tools"
	"taskyard/runner/supervise"
)

// OpenTools returns a function that opens the tools for files and programs in
// the working folder of a run. With unconfined, bash also runs where it cannot
// be confined.
func OpenTools(unconfined bool) func(spec supervise.Spec, work string) (Toolbox, error) {
	return func(spec supervise.Spec, work string) (Toolbox, error) {
		var readable []string
		if spec.Readable != nil && slices.Contains(spec.Plan.Tools, "bash") {
			readable = spec.Readable()
		}
		b, err := tools.Open(tools.Options{
			Root: work, Agent: spec.Plan.Agent, Granted: spec.Plan.Tools, Network: spec.Plan.Network,
			AcceptUnconfinedShell: unconfined, ReadOnly: readable, Env: bashEnvironment(spec),
		})
		if err != nil {
			return nil, err
		}
		return b, nil
	}
}

// ShellLevel returns a function that describes how bash is confined on this
// machine, with and without network. With unconfined, bash runs even if it
// cannot be confined.
func ShellLevel(unconfined bool) func() string {
	return func() string {
		closed := tools.Level(tools.Options{AcceptUnconfinedShell: unconfined})
		open := tools.Level(tools.Options{AcceptUnconfinedShell: unconfined, Network: true})
		switch {
		case closed == "off" && open == "off":
			return "bash is off: nothing here can confine it (that takes landlock of Linux 6.2 or newer, or bubblewrap)"
		case closed == open:
			return "bash: " + closed
		}
		return "bash: " + closed + "; with network: " + open
	}
}

// bashEnvironment returns the additional environment of bash commands: the
// variables that the agent's definition names, and the marks by which
// KillOrphan finds their processes. Only the server has the token of the run.
func bashEnvironment(spec supervise.Spec) (list []string) {
	for _, entry := range supervise.Environment(spec, nil) {
		switch name, _, _ := strings.Cut(entry, "="); name {
		case "PATH", "HOME", "TMPDIR", "LANG", "TERM", "TASKYARD_URL", "TASKYARD_TOKEN":
		default:
			list = append(list, entry)
		}
	}
	return list
}
