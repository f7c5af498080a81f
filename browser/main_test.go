package browser

import (
	"fmt"
	"os"
	"testing"

	"taskyard/runner"
	"taskyard/runner/tools"
)

// agentArg makes this binary the agent of a run.
const agentArg = "scripted-agent"

// TestMain is the tests, and, started again by a run, its shim and its agent.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case runner.ShimArg:
			os.Exit(runner.ShimMain(os.Args[2:]))
		case tools.ToolShellArg:
			os.Exit(tools.ToolShellMain(os.Args[2:]))
		case agentArg:
			os.Exit(scriptedAgent())
		}
	}
	runner.SetYard(fmt.Sprintf("browser-tests-%d", os.Getpid())) // of two at once, each ends its own agents alone
	code := m.Run()
	if err := chrome.close(); err != nil {
		fmt.Fprintln(os.Stderr, "browser not closed:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}
