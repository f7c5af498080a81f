//go:build linux

package runner

import (
	"os"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/tools"
	"taskyard/runner/runnertest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == tools.ToolShellArg {
		testkit.EndHelper(tools.ToolShellMain(os.Args[2:]))
	}
	runnertest.Main(m, nil)
}
