//go:build linux

package trials

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// quick is a short grace period for the table; the trials use the server's.
const quick = 300 * time.Millisecond

func TestEveryMisbehavingProgramEndsAndLeavesNothing(t *testing.T) {
	// More than the transcript keeps; in the thorough form also more than its file keeps.
	flood, line, said := "30000000", "30000000", "This run has said more than 16 MiB."
	if testkit.Thorough() {
		flood, line, said = "1000000000", "200000000", "bytes of output were discarded"
	}
	parts := []struct {
		name, agent   string
		part          part
		state, reason string
		wantSaid      string
	}{
		{
			"silence ends by the idle limit", "hang",
			part{limits: "idle_timeout: 1s", args: []string{"hang"}},
			"failed/idle", "It said nothing for 1 s", "ready",
		},
		{
			"deafness to TERM ends by KILL", "deaf",
			part{limits: "timeout: 1s", args: []string{"deaf"}},
			"failed/timeout", "It ran longer than its time limit of 1 s", "ready",
		},
		{"a grandchild that keeps stdout open is killed", "grandchild", part{args: []string{"grandchild"}}, "completed/ended", "", "stopped: 1"},
		{"a grandchild in another session is killed", "setsid", part{args: []string{"setsid"}}, "completed/ended", "", "stopped: 1"},
		{"a daemon without an environment is killed", "daemon", part{args: []string{"daemon"}}, "completed/ended", "", "stopped: 1"},
		{"unlimited output is bounded", "flood", part{args: []string{"flood", flood}}, "completed/ended", "", said},
		{"an endless line is cut", "line", part{args: []string{"line", line}}, "completed/ended", "", "the line is too long"},
		{"invalid UTF-8 is replaced", "garbage", part{args: []string{"garbage"}}, "completed/ended", "", "a\uFFFDb\uFFFDc"},
		{"exit 0 without a result is a failure", "nothing", part{args: []string{"nothing"}}, "failed/error", "It ended without a result", ""},
		{
			"a fork bomb is killed", "bomb",
			part{args: []string{"bomb"}},
			"failed/error",
			"It had more than 2048 processes at one time", "",
		},
	}
	agents := map[string]part{}
	for _, tt := range parts {
		tt.part.grace = quick
		agents[tt.agent] = tt.part
	}
	inst := newInstance(t, agents)
	for _, tt := range parts {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, id := inst.begin(t, tt.agent)
			var r *task.Run
			if !within(patience, func() bool { r = inst.run(t, id); return r.EndedAt != 0 }) {
				t.Fatalf("got %s", r.State())
			}
			if left := alive(id); len(left) > 0 {
				t.Errorf("%d processes remain: %v", len(left), left)
			}
			if r.State().String() != tt.state || r.Reason != tt.reason {
				t.Errorf("got %s: %s, want %s: %s", r.State(), r.Reason, tt.state, tt.reason)
			}
			if r.Status == task.RunCompleted && r.Summary != "all is done" {
				t.Errorf("got summary %q", r.Summary)
			}
			said := strings.Join(inst.transcript(t, id), "\n")
			if !strings.Contains(said, tt.wantSaid) || !utf8.ValidString(said) || strings.ContainsRune(said, 0) {
				t.Errorf("the transcript of %d bytes lacks %q or is not valid text: %.300q … %q",
					len(said), tt.wantSaid, said, said[max(0, len(said)-300):])
			}
		})
	}
}
