//go:build linux

package acp

import (
	"testing"

	"taskyard/runner/runnertest"
)

func TestMain(m *testing.M) {
	runnertest.Main(m, map[string]func([]string){"acp": play})
}
