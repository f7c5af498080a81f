//go:build linux

package runner

import (
	"testing"

	"taskyard/runner/runnertest"
)

func TestMain(m *testing.M) { runnertest.Main(m, nil) }
