package browser

import (
	"fmt"
	"os"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner"
	"taskyard/runner/supervise"
)

// agentArg makes this binary the agent of a run.
const agentArg = "scripted-agent"

// atOnce is the number of parallel tests on a machine with two cores: they wait for
// Chromium more than they compute.
const atOnce = 3

// TestMain runs the tests and, when started by a run, the shim and the agent.
func TestMain(m *testing.M) {
	if code, ok := runner.HelperMain(os.Args[1:]); ok {
		testkit.EndHelper(code)
	}
	if len(os.Args) > 1 && os.Args[1] == agentArg {
		testkit.EndHelper(scriptedAgent())
	}
	testkit.RunBeside(atOnce)
	supervise.SetInstance(fmt.Sprintf("browser-tests-%d", os.Getpid())) // of two at the same time, each ends only its own agents
	code := m.Run()
	if err := chrome.close(); err != nil {
		fmt.Fprintln(os.Stderr, "browser not closed:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}
