package handlers

import (
	"os"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner"
)

// TestMain runs the tests, or the helper process of a check that the tests start.
func TestMain(m *testing.M) {
	if code, ok := runner.HelperMain(os.Args[1:]); ok {
		testkit.EndHelper(code)
	}
	os.Exit(m.Run())
}
