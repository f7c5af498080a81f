package service

import (
	"strings"
	"testing"

	"taskyard/task"
)

// runTable is the table in runs.md, section 3: each state with the states that may
// follow.
var runTable = map[string]string{
	"pending/approval":   "pending/queued canceled/by canceled/denied canceled/expired canceled/task_closed canceled/shutdown",
	"pending/queued":     "running/starting pending/approval canceled/by canceled/task_closed canceled/shutdown",
	"running/starting":   "running/working pending/queued " + failures + canceled,
	"running/working":    "running/permission running/condensing completed/ended pending/queued " + failures + canceled,
	"running/permission": "running/working failed/permission pending/queued " + failures + canceled,
	"running/condensing": "completed/ended pending/queued " + failures + canceled,
}

const (
	failures = "failed/error failed/timeout failed/idle failed/tokens failed/cost " +
		"failed/turns failed/crash failed/protocol failed/auth failed/lost "
	canceled = "canceled/by canceled/task_closed canceled/shutdown"
)

func TestRunTransitions(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, from := range task.States {
		known[from.String()] = true
		allowed := map[string]bool{}
		for _, s := range strings.Fields(runTable[from.String()]) {
			allowed[s] = true
		}
		for _, to := range task.States {
			if from.CanMove(to) != allowed[to.String()] {
				t.Errorf("%s → %s: got %t", from, to, from.CanMove(to))
			}
		}
		if from.Status.Final() != (runTable[from.String()] == "") {
			t.Errorf("%s: got final %t", from, from.Status.Final())
		}
	}
	for from, row := range runTable {
		for _, s := range append(strings.Fields(row), from) {
			if !known[s] {
				t.Errorf("the table contains the unknown state %s", s)
			}
		}
	}
	equal(t, "states", len(task.States), 7+len(task.Failures)+len(task.Cancels))
}

func TestAnImpossibleEndIsRefused(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk, st, _ := inst.inRun("coder")
	for _, s := range []task.State{
		{Status: task.RunFailed, Phase: task.PhasePermission},
		{Status: task.RunCanceled, Phase: task.PhaseDenied},
		{Status: task.RunRunning, Phase: task.PhaseWorking},
		{Status: task.RunCompleted, Phase: task.PhaseError},
		{},
	} {
		last := inst.lastEvent()
		refused(t, inst.s.FinishRun(inst.ctx(), st.Run.ID, st.Run.Lease, Finished{State: s}), task.CodeRunEnded)
		equal(t, "last event", inst.lastEvent(), last)
		equal(t, "open run", inst.openRun(tk.ID).ID, st.Run.ID)
	}
	equal(t, "lines of the transcript", len(must(inst.s.Transcript(inst.ctx(), maya, st.Run.ID, 0, 10))), 2)
}
