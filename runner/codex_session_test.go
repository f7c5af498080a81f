//go:build linux

package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskyard/task"
)

const codexThread = "01a1b2c3-0000-7000-8000-0123456789ab"

func TestCodexTellsItsThread(t *testing.T) {
	t.Parallel()
	keeper := &keeping{recorder: &recorder{}}
	out := runWith(t, t.Context(), codexSays(lines(strings.Replace(codexBegin, "01a1", codexThread, 1), codexDone, codexEnd)),
		codexSpec(t), keeper)
	wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if out.Session != codexThread || !slices.Equal(keeper.sessions, []string{codexThread}) {
		t.Errorf("session %q, told %q", out.Session, keeper.sessions)
	}
}

// codexSpec is a run that may use bash.
func codexSpec(t *testing.T) Spec {
	spec := newSpec(t)
	spec.Plan.Tools = []string{"read", "bash"}
	return spec
}

func TestCodexGoesOnFromAThread(t *testing.T) {
	t.Parallel()
	const rollout = "sessions/2026/03/02/rollout-2026-03-02T09-00-00-" + codexThread + ".jsonl"
	tell := `printf '%s|' "$@"; cat "$CODEX_HOME/` + rollout + `"; cat >/dev/null`
	for _, tt := range []struct {
		name  string
		spoil func(s *Spec, file string)
		goes  bool
	}{
		{"that lies in the folder of another start", func(*Spec, string) {}, true},
		{"that lies in its own folder", func(s *Spec, _ string) { s.Dir = s.Former }, true},
		{"a name that is no thread starts over", func(s *Spec, _ string) { s.Session = "*" }, false},
		{"a thread that is gone starts over", func(_ *Spec, file string) { _ = os.Remove(file) }, false},
		{"a link starts over", func(_ *Spec, file string) { _ = os.Remove(file); _ = os.Symlink("/etc/passwd", file) }, false},
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
			_, r := playOut(t, codexSays(tell), spec)
			said := strings.Join(r.texts(EventLog), "\n")
			if goes := strings.Contains(said, "|resume|"+codexThread+"|-|history"); goes != tt.goes || !goes && strings.Contains(said, "|resume|") {
				t.Errorf("it said %q", said)
			}
			if _, err := os.Stat(filepath.Join(spec.Dir, "home/.codex/config.toml")); err == nil {
				t.Error("settings of the former start are taken over")
			}
		})
	}
}

func TestCodexIsRefusedALimitOfCost(t *testing.T) {
	t.Parallel()
	spec := codexSpec(t)
	spec.Plan.Limits.MaxCostUSD = 1
	c := codexSays(lines(codexBegin, codexDone, codexEnd))
	out, _ := playOut(t, c, spec)
	wantState(t, out, task.RunFailed, task.PhaseError,
		"Give the agent max_tokens or max_turns instead of max_cost_usd, or set accept_weaker = true")
	if !out.Permanent {
		t.Error("it is tried again")
	}
	c.AcceptWeaker = true
	out, _ = playOut(t, c, spec)
	wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
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
		{"three calls, words and an answer are four turns", 4, task.PhaseEnded},
		{"one more than allowed fails", 3, task.PhaseTurns},
		{"without a limit all may happen", 0, task.PhaseEnded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := codexSpec(t)
			spec.Plan.Limits.MaxTurns = tt.max
			out, _ := playOut(t, codexSays(lines(codexBegin, says, call(1), call(2), says, call(3), codexDone, codexEnd)), spec)
			if out.Phase != tt.phase || tt.phase == task.PhaseTurns && out.Reason != "It began turn 4 of at most 3" {
				t.Errorf("%s: %s", out.Phase, out.Reason)
			}
		})
	}
}
