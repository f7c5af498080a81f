//go:build linux

package webhook

import (
	"os"
	"testing"

	"taskyard/runner/runnertest"
)

func TestMain(m *testing.M) {
	if err := os.Setenv(hookSecretName, hookSecret); err != nil { // before the parallel tests
		panic(err)
	}
	runnertest.Main(m, nil)
}
