//go:build linux

package claude

import (
	"testing"

	"taskyard/runner/runnertest"
)

func TestMain(m *testing.M) {
	runnertest.Main(m, map[string]func([]string){"claude": play})
}
