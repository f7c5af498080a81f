//go:build linux

package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/runner/confine/escape"
)

func TestNothingEscapesFromConfinedPrograms(t *testing.T) {
	t.Parallel()
	c := confined(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, check := escape.Data(t)
	c.Hidden = []string{data}
	attempt := self + " " + escape.Arg + " " + pid(os.Getpid()) + " " + data
	verdict := func(t *testing.T, text string) {
		t.Helper()
		if unenforced := c.machine().Unenforced(); unenforced != "" {
			t.Skipf("%s: %s", unenforced, text)
		}
		if !strings.Contains(text, escape.Refused()) {
			t.Error(text)
		}
		check()
	}
	t.Run("an agent of the ACP", func(t *testing.T) {
		spec := newSpec(t)
		log := filepath.Join(spec.Dir, "tmp", "log")
		_, _ = run(t, confinedSh(c, attempt+" > "+log+" 2>&1"), spec)
		verdict(t, readText(t, log))
	})
	t.Run("Claude Code", func(t *testing.T) {
		spec := newSpec(t)
		log := filepath.Join(spec.Dir, "tmp", "log")
		claude := &Claude{Argv: []string{"/bin/sh", "-c", attempt + " > " + log + " 2>&1", "claude"}, Confine: c, AcceptWeaker: true}
		_, _ = run(t, claude, spec)
		verdict(t, readText(t, log))
	})
	t.Run("a command of its shell", func(t *testing.T) {
		spec := newSpec(t)
		spec.Plan.Tools = []string{"bash"}
		runner := &Claude{Argv: []string{"claude"}, Confine: c}
		work, err := makeFolders(t.Context(), spec)
		if err == nil {
			err = runner.writeShell(spec)
		}
		if err != nil {
			t.Fatal(err)
		}
		log := filepath.Join(spec.Dir, "tmp", "log")
		_, _ = run(t, confinedSh(c, "cd "+work+" && "+filepath.Join(spec.Dir, shellName)+" '"+attempt+"' > "+log+" 2>&1"), spec)
		verdict(t, readText(t, log))
	})
	t.Run("what tells the version", func(t *testing.T) {
		program := filepath.Join(t.TempDir(), "agent")
		if err := os.WriteFile(program, []byte("#!/bin/sh\nexec "+attempt+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, r := range []Runner{&ACP{Program: Program{Argv: []string{program}, Confine: c}}, &Claude{Argv: []string{program}, Confine: c}} {
			p := r.Probe(t.Context())
			verdict(t, p.Version+p.Problem)
		}
	})
	t.Run("what is not confined says so", func(t *testing.T) {
		if p := (&ACP{}).Probe(t.Context()); !strings.Contains(p.Shell, "not confined (confine = false)") {
			t.Error(p.Shell)
		}
		if p := probeOf("command"); !strings.Contains(p.Shell, "not confined") {
			t.Error(p.Shell)
		}
	})
	escape.AsNobody(t)
}
