//go:build linux

package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

const codexThread = "01a1b2c3-0000-7000-8000-0123456789ab"

func TestCodexReportsItsThread(t *testing.T) {
	t.Parallel()
	keeper := &runnertest.Keeper{Recorder: &runnertest.Recorder{}}
	out := runnertest.RunWith(t, t.Context(), codexSays(lines(strings.Replace(codexBegin, "01a1", codexThread, 1), codexDone, codexEnd)),
		codexSpec(t), keeper)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if out.Session != codexThread || !slices.Equal(keeper.Sessions, []string{codexThread}) {
		t.Errorf("got session %q, reported %q", out.Session, keeper.Sessions)
	}
}

// codexSpec returns a run that may use bash.
func codexSpec(t *testing.T) supervise.Spec {
	spec := runnertest.NewSpec(t)
	spec.Plan.Tools = []string{"read", "bash"}
	return spec
}

func TestCodexContinuesAThread(t *testing.T) {
	t.Parallel()
	const rollout = "sessions/2026/03/02/rollout-2026-03-02T09-00-00-" + codexThread + ".jsonl"
	tell := `printf '%s|' "$@"; cat "$CODEX_HOME/` + rollout + `"; cat >/dev/null`
	for _, tt := range []struct {
		name      string
		spoil     func(s *supervise.Spec, file string)
		continues bool
	}{
		{"a thread in the folder of another start continues", func(*supervise.Spec, string) {}, true},
		{"a thread in its own folder continues", func(s *supervise.Spec, _ string) { s.Dir = s.Former }, true},
		{"an invalid thread name starts over", func(s *supervise.Spec, _ string) { s.Session = "*" }, false},
		{"a deleted thread starts over", func(_ *supervise.Spec, file string) { _ = os.Remove(file) }, false},
		{"a link starts over", func(_ *supervise.Spec, file string) { _ = os.Remove(file); _ = os.Symlink("/etc/passwd", file) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := codexSpec(t)
			spec.Former, spec.Session = t.TempDir(), codexThread
			file := filepath.Join(spec.Former, "home/.codex", rollout)
			settings := filepath.Join(spec.Former, "home/.codex/config.toml")
			if os.MkdirAll(filepath.Dir(file), 0o700) != nil || os.WriteFile(file, []byte("history"), 0o600) != nil ||
				os.WriteFile(settings, nil, 0o600) != nil {
				t.Fatal("cannot write")
			}
			tt.spoil(&spec, file)
			_, r := runnertest.Run(t, codexSays(tell), spec)
			said := strings.Join(r.Texts(supervise.EventLog), "\n")
			continues := strings.Contains(said, "|resume|"+codexThread+"|-|history")
			if continues != tt.continues || !continues && strings.Contains(said, "|resume|") {
				t.Errorf("got %q", said)
			}
			if _, err := os.Stat(filepath.Join(spec.Dir, "home/.codex/config.toml")); err == nil {
				t.Error("settings of the former start were copied")
			}
		})
	}
}

func TestCodexRefusesACostLimit(t *testing.T) {
	t.Parallel()
	spec := codexSpec(t)
	spec.Plan.Limits.MaxCostUSD = 1
	c := codexSays(lines(codexBegin, codexDone, codexEnd))
	out, _ := runnertest.Run(t, c, spec)
	runnertest.WantState(t, out, task.RunFailed, task.PhaseError,
		"Give the agent max_tokens or max_turns instead of max_cost_usd, or set accept_weaker = true")
	if !out.Permanent {
		t.Error("a retry would follow")
	}
	c.AcceptWeaker = true
	out, _ = runnertest.Run(t, c, spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
}

func TestTurnsOfCodexAreCounted(t *testing.T) {
	t.Parallel()
	call := func(n int) string {
		item := fmt.Sprintf(`"item":{"id":"i%d","type":"command_execution","command":"true","exit_code":0,"status":"completed"}}`, n)
		return `{"type":"item.started",` + item + "\n" + `{"type":"item.completed",` + item
	}
	says := `{"type":"item.completed","item":{"id":"m","type":"agent_message","text":"I continue."}}`
	for _, tt := range []struct {
		name  string
		max   int
		phase task.Phase
	}{
		{"three calls, text and an answer are four turns", 4, task.PhaseEnded},
		{"one turn more than allowed fails", 3, task.PhaseTurns},
		{"without a limit, any number is allowed", 0, task.PhaseEnded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := codexSpec(t)
			spec.Plan.Limits.MaxTurns = tt.max
			out, _ := runnertest.Run(t, codexSays(lines(codexBegin, says, call(1), call(2), says, call(3), codexDone, codexEnd)), spec)
			if out.Phase != tt.phase || tt.phase == task.PhaseTurns && out.Reason != "It began turn 4 of at most 3" {
				t.Errorf("got %s: %s", out.Phase, out.Reason)
			}
		})
	}
}
