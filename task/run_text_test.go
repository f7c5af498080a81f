package task

import (
	"strings"
	"testing"
)

func TestAStateTextIncludesItsPhase(t *testing.T) {
	t.Parallel()
	for s, want := range map[State]string{
		{RunPending, PhaseQueued}:      "pending: queued",
		{RunRunning, PhaseWorking}:     "running",
		{RunCompleted, PhaseEnded}:     "completed",
		{RunFailed, PhaseIdle}:         "failed: no progress",
		{RunFailed, PhasePermission}:   "failed: permission refused",
		{RunCanceled, PhaseBy}:         "canceled",
		{RunCanceled, PhaseTaskClosed}: "canceled: task closed",
		{RunStatus("x"), Phase("y")}:   "x",
	} {
		if got := s.Text(); got != want {
			t.Errorf("%s: got %q, want %q", s, got, want)
		}
	}
	for _, s := range States {
		if s.Status == RunFailed && !strings.HasPrefix(s.Text(), "failed: ") {
			t.Errorf("%s: got %q, want a text that begins with failed:", s, s.Text())
		}
	}
}
