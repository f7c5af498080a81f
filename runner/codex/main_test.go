//go:build linux

package codex

import (
	"testing"

	"taskyard/runner/runnertest"
)

func TestMain(m *testing.M) { runnertest.Main(m, nil) }
