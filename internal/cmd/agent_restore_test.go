package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runs runs a command and returns its exit code and output.
func runs(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	return runsWith(t, "", args...)
}

func runsWith(t *testing.T, stdin string, args ...string) (code int, out string) {
	t.Helper()
	var b bytes.Buffer
	code = Run(&Env{
		Ctx: t.Context(), Stdin: strings.NewReader(stdin), Stdout: &b, Stderr: &b, Getenv: func(string) string { return "" },
	}, args)
	return code, b.String()
}

func TestADeletedDefaultAgentIsRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	agents := filepath.Join(dir, "agents")
	if err := os.Mkdir(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(agents, "general-purpose.md")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := runs(t, "agent", "restore", "--data", dir)
	if code != 0 || !strings.Contains(out, "restored code-focused: ") || strings.Contains(out, "general-purpose") {
		t.Errorf("%d %s", code, out)
	}
	if b, err := os.ReadFile(mine); string(b) != "mine" {
		t.Errorf("an existing file is now %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(agents, "code-focused.md")); err != nil {
		t.Error(err)
	}
	if code, out = runs(t, "agent", "restore", "--data", dir); code != 0 || !strings.Contains(out, "nothing to restore") {
		t.Errorf("%d %s", code, out)
	}
	code, out = runs(t, "agent", "restore", "coder", "--data", dir)
	if code == 0 || !strings.Contains(out, "those are code-focused, general-purpose") {
		t.Errorf("%d %s", code, out)
	}
}

func TestTheHelpOfAGroupHasTheFlagsOfItsDefault(t *testing.T) {
	t.Parallel()
	code, out := runs(t, "delegate", "--help")
	for _, want := range []string{"delegate show", "--agent=AGENT", "--wait=SECONDS"} {
		if !strings.Contains(out, want) {
			t.Errorf("%d: %s is not in\n%s", code, want, out)
		}
	}
}
