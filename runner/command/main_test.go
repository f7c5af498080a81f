//go:build linux

package command

import (
	"testing"

	"taskyard/runner/runnertest"
)

func TestMain(m *testing.M) { runnertest.Main(m, nil) }

// sh returns a command that runs a shell script.
func sh(script string) *Runner { return program("/bin/sh", "-c", script) }

func program(argv ...string) *Runner { return &Runner{Program: runnertest.Program(argv...)} }
