//go:build linux

package builtin

import (
	"testing"

	"taskyard/runner/runnertest"
)

func TestMain(m *testing.M) { runnertest.Main(m, nil) }
