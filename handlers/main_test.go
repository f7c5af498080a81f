package handlers

import (
	"os"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner"
)

// TestMain is the tests, and, started again by a check, what keeps it.
func TestMain(m *testing.M) {
	if code, ok := runner.HelperMain(os.Args[1:]); ok {
		testkit.EndHelper(code)
	}
	os.Exit(m.Run())
}
