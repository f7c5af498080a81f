//go:build linux

package runner

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/acp"
	"taskyard/runner/claude"
	"taskyard/runner/confine/escape"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
)

func TestNothingEscapesFromConfinedPrograms(t *testing.T) {
	t.Parallel()
	c := runnertest.Confined(t)
	self, err := os.Executable()
	testkit.NoError(t, err)
	data, check := escape.Data(t)
	c.Hidden = []string{data}
	attempt := self + " " + escape.Arg + " " + strconv.Itoa(os.Getpid()) + " " + data
	verdict := func(t *testing.T, text string) {
		t.Helper()
		if unenforced := c.Machine().Unenforced(); unenforced != "" {
			t.Skipf("%s: %s", unenforced, text)
		}
		if !strings.Contains(text, escape.Refused()) {
			t.Error(text)
		}
		check()
	}
	confined := func(argv ...string) supervise.Program {
		p := runnertest.Program(argv...)
		p.Confine = c
		return p
	}
	t.Run("an ACP agent", func(t *testing.T) {
		spec := runnertest.NewSpec(t)
		log := filepath.Join(spec.Dir, "tmp", "log")
		_, _ = runnertest.Run(t, &acp.Runner{Program: confined("/bin/sh", "-c", attempt+" > "+log+" 2>&1"), AcceptWeaker: true}, spec)
		verdict(t, runnertest.ReadText(t, log))
	})
	t.Run("Claude Code", func(t *testing.T) {
		spec := runnertest.NewSpec(t)
		log := filepath.Join(spec.Dir, "tmp", "log")
		program := confined("/bin/sh", "-c", attempt+" > "+log+" 2>&1", "claude")
		_, _ = runnertest.Run(t, &claude.Runner{Program: program, AcceptWeaker: true}, spec)
		verdict(t, runnertest.ReadText(t, log))
	})
	t.Run("a command of its shell", func(t *testing.T) {
		spec := runnertest.NewSpec(t)
		spec.Plan.Tools = []string{"bash"}
		log := filepath.Join(spec.Dir, "tmp", "log")
		program := confined("/bin/sh", "-c", `"$CLAUDE_CODE_SHELL_PREFIX" '`+attempt+`' > `+log+" 2>&1", "claude")
		_, _ = runnertest.Run(t, &claude.Runner{Program: program, AcceptWeaker: true}, spec)
		verdict(t, runnertest.ReadText(t, log))
	})
	t.Run("the command that prints the version", func(t *testing.T) {
		program := filepath.Join(t.TempDir(), "agent")
		testkit.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nexec "+attempt+"\n"), 0o700))
		for _, r := range []supervise.Runner{&acp.Runner{Program: confined(program)}, &claude.Runner{Program: confined(program)}} {
			p := r.Probe(t.Context())
			verdict(t, p.Version+p.Problem)
		}
	})
	t.Run("a program that is not confined is reported", func(t *testing.T) {
		if p := (&acp.Runner{}).Probe(t.Context()); !strings.Contains(p.Shell, "not confined (confine = false)") {
			t.Error(p.Shell)
		}
		if p := capabilities("command"); !strings.Contains(p.Shell, "not confined") {
			t.Error(p.Shell)
		}
	})
	escape.AsNobody(t)
}
