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

// atOnce is how many tests run beside each other on a machine of two cores:
// they wait for Chromium more than they compute.
const atOnce = 3

// TestMain is the tests, and, started again by a run, its shim and its agent.
func TestMain(m *testing.M) {
	if code, ok := runner.HelperMain(os.Args[1:]); ok {
		testkit.EndHelper(code)
	}
	if len(os.Args) > 1 && os.Args[1] == agentArg {
		testkit.EndHelper(scriptedAgent())
	}
	testkit.RunBeside(atOnce)
	supervise.SetInstance(fmt.Sprintf("browser-tests-%d", os.Getpid())) // of two at once, each ends its own agents alone
	code := m.Run()
	if err := chrome.close(); err != nil {
		fmt.Fprintln(os.Stderr, "browser not closed:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}
