package runner

import (
	"taskyard/runner/builtin/tools"
	"taskyard/runner/supervise"
)

// HelperMain runs one of the processes between the server and an agent if args,
// those of the program without its name, ask for one: the shim of a run or the
// keeper of a shell command. ok reports whether they did; code is the exit
// code. A program that starts runs calls it before anything else.
func HelperMain(args []string) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case supervise.ShimArg:
		return supervise.ShimMain(args[1:]), true
	case tools.ToolShellArg:
		return tools.ToolShellMain(args[1:]), true
	}
	return 0, false
}
