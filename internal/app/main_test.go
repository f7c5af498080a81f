package app

import (
	"os"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner"
)

func TestMain(m *testing.M) {
	if code, ok := runner.HelperMain(os.Args[1:]); ok {
		testkit.EndHelper(code)
	}
	os.Exit(m.Run())
}
