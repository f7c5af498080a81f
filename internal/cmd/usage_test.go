package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestANegativeNumberIsNotAnUnknownFlag(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"task", "show", "-4"}, {"settings", "set", "runs.max_parallel", "-4"}} {
		code, out := runs(t, args...)
		if code != exitUsage || !strings.Contains(out, "-4 looks like a flag; write -- -4 for a negative value; see taskyard "+args[0]) {
			t.Errorf("%v: %d %s", args, code, out)
		}
	}
	if code, out := runs(t, "task", "show", "--nope"); code != exitUsage || !strings.Contains(out, "unknown flag --nope") {
		t.Errorf("%d %s", code, out)
	}
}

func TestTheProfileOfMCPToolsIsChecked(t *testing.T) {
	t.Parallel()
	if code, out := runs(t, "mcp", "--profile", "all"); !strings.Contains(out, "set TASKYARD_TOKEN") {
		t.Errorf("%d %s", code, out)
	}
	if code, out := runs(t, "mcp", "--profile", "most"); code != exitUsage || !strings.Contains(out, "all") {
		t.Errorf("%d %s", code, out)
	}
}

func TestAWrongDataFolderIsReported(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"token list", "token revoke 1", "user passwd ada", "agent restore"} {
		args := strings.Fields(command)
		dir := filepath.Join(t.TempDir(), "typo")
		code, out := runsWith(t, "a long enough password\n", append(args, "--data", dir)...)
		if code != exitRefused || !strings.Contains(out, "name the instance's data folder with --data") {
			t.Errorf("%v: %d %s", args, code, out)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%v created %s", args, dir)
		}
	}
	dir := t.TempDir()
	for _, want := range []bool{true, false} {
		code, out := runs(t, "token", "create", "--data", dir, "--scope", "read")
		note := "created a new instance in " + dir + "; if your instance is elsewhere, name its folder with --data"
		if code != 0 || strings.Contains(out, note) != want {
			t.Errorf("want a note: %v, got %d %s", want, code, out)
		}
	}
}

func TestTokensAreListedWithoutTheirSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var secrets []string
	for _, scope := range []string{"operate", "read"} {
		code, out := runs(t, "token", "create", "--data", dir, "--scope", scope, "--name", "for-"+scope)
		if code != 0 {
			t.Fatalf("%d %s", code, out)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		secrets = append(secrets, lines[len(lines)-1])
	}
	list := func(args ...string) string {
		t.Helper()
		code, out := runs(t, append([]string{"token", "list", "--data", dir}, args...)...)
		for _, s := range secrets {
			if strings.Contains(out, s) {
				t.Errorf("a secret is in %s", out)
			}
		}
		if code != 0 {
			t.Errorf("%d %s", code, out)
		}
		return out
	}
	if out := list(); !regexp.MustCompile(`(?m)^\d+ .* operate .* for-operate$`).MatchString(out) || !strings.Contains(out, "for-read") {
		t.Errorf("%s", out)
	}
	if code, out := runs(t, "token", "revoke", "--data", dir, "nope"); code != 1 ||
		!strings.Contains(out, `there is no token "nope"; taskyard token list shows the numbers`) {
		t.Errorf("%d %s", code, out)
	}
	if code, out := runs(t, "token", "revoke", "--data", dir, "for-read"); code != 0 {
		t.Errorf("%d %s", code, out)
	}
	if out := list("--json"); !strings.Contains(out, `"name":"for-operate"`) || strings.Contains(out, "for-read") {
		t.Errorf("%s", out)
	}
}
