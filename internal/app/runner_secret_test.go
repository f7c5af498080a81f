package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/config"
	"taskyard/internal/testkit"
	"taskyard/runner"
	"taskyard/task"
)

func TestARunnerWithoutItsSecretNamesTheVariable(t *testing.T) {
	const set, unset = "TASKYARD_TEST_SET", "TASKYARD_TEST_UNSET"
	t.Setenv(set, "whsec_"+strings.Repeat("Zm9v", 8))
	program := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho 9.9\n"), 0o700); err != nil { //nolint:gosec // must be executable
		t.Fatal(err)
	}
	cfg := &config.Config{Runners: map[string]config.Runner{
		"signed-in":   {Kind: "claude", Command: []string{program}, SecretEnv: set},
		"signed-out":  {Kind: "claude", Command: []string{program}, SecretEnv: unset},
		"not-there":   {Kind: "claude", Command: []string{program + "-2"}, SecretEnv: unset},
		"hook":        {Kind: "webhook", URL: "https://h.example/", SecretEnv: set},
		"hook-unsafe": {Kind: "webhook", URL: "https://h.example/", SecretEnv: unset},
	}}
	runners := &runnerSet{config: cfg, started: Runners(cfg)}
	prober := runner.NewProber(runners.sources(), nil)
	go prober.Run(t.Context())
	for name, want := range map[string]struct{ state, problem, remedy string }{
		"signed-in":   {"ready", "", ""},
		"signed-out":  {"ready", "the variable " + unset + ", which secret_env names, is empty", "into the environment of the server"},
		"not-there":   {"missing", program + "-2", "Install it"},
		"hook":        {"ready", "", ""},
		"hook-unsafe": {"missing", "the variable " + unset + ", which secret_env names, is empty", "into the environment of the server"},
	} {
		var got task.RunnerInfo
		testkit.Eventually(t, name+" is probed", func() bool {
			for _, r := range prober.Runners() {
				if r.Name == name {
					got = r
				}
			}
			return got.ProbedAt != 0
		})
		if got.State() != want.state || !strings.Contains(got.Problem, want.problem) || !strings.Contains(got.Remedy, want.remedy) ||
			want.problem == "" && got.Problem+got.Remedy != "" {
			t.Errorf("%s: got %s, %q, %q; want %+v", name, got.State(), got.Problem, got.Remedy, want)
		}
	}
}

func TestTheCheckNamesASecretThatIsNotUsed(t *testing.T) {
	t.Parallel()
	for kind, used := range map[string]bool{
		"claude": true, "webhook": true, "codex": false, "acp": false, "command": false, "builtin": false, "worker": false,
	} {
		cfg := &config.Config{Runners: map[string]config.Runner{
			"it": {Kind: kind, Command: []string{"/bin/sh"}, URL: "https://h.example/", SecretEnv: "LOGIN"},
		}}
		named := strings.Contains(strings.Join(runnerWarnings(cfg, func(string) string { return "set" }), "\n"),
			"runners.it: runners of kind "+kind+" do not use secret_env")
		if named == used {
			t.Errorf("kind %s: reported = %v", kind, named)
		}
	}
}
