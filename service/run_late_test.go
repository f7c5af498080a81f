package service

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// awaitWriters waits until n callers wait for the writer.
func awaitWriters(t *testing.T, n int) {
	t.Helper()
	all := make([]byte, 1<<20)
	for end := time.After(30 * time.Second); strings.Count(string(all[:runtime.Stack(all, true)]), "(*DB).Write(") < n; runtime.Gosched() {
		select {
		case <-end:
			t.Fatalf("timed out waiting for %d writers", n)
		default:
		}
	}
}

func TestABatchReportedTwiceLosesNothing(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, forGPU)
	l, hold := inst.leaseWorking()
	lines := func(texts ...string) (list []task.Message) {
		for _, s := range texts {
			list = append(list, task.Message{Role: task.SpeakerAssistant, Type: "text", Content: s})
		}
		return list
	}
	next := must(inst.s.ReportEvents(inst.ctx(), gpuBox, l.RunID, hold, 1, lines("one", "two")))
	equal(t, "next", next, 3)

	held, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 3)
	go func() {
		done <- inst.db.Write(context.Background(), func(*db.Tx) error { close(held); <-free; return nil })
	}()
	<-held
	go func() { // the response was lost, so the worker repeats two lines
		_, err := inst.s.ReportEvents(context.Background(), gpuBox, l.RunID, hold, 1, lines("one", "two", "three"))
		done <- err
	}()
	awaitWriters(t, 2)
	undone := errors.New("it fails after it has written, and all that shares its commit is run again")
	go func() {
		err := inst.db.Write(context.Background(), func(tx *db.Tx) error {
			return errors.Join(tx.SetSetting("x", "y"), undone)
		})
		if errors.Is(err, undone) {
			err = nil
		}
		done <- err
	}()
	awaitWriters(t, 3)
	close(free)
	for range 3 {
		ok(t, <-done)
	}
	var got []string
	for _, m := range must(inst.s.Transcript(inst.ctx(), maya, l.RunID, 0, 100)) {
		if m.Type == "text" {
			got = append(got, m.Content)
		}
	}
	equal(t, "transcript", strings.Join(got, " "), "one two three")
}

func TestALateHeartbeatKeepsARun(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, forGPU)
	inst.queueRuns("coder", 1)
	l := inst.lease("gpu")
	hold := task.LeaseRef{Attempt: l.Attempt, Lease: l.Lease}
	inst.Forward(2 * time.Minute)
	late := must(inst.s.LeaseLost(inst.ctx()))
	equal(t, "late", len(late), 1)
	must(inst.s.ReportAlive(inst.ctx(), gpuBox, l.RunID, hold, false, 0))
	refused(t, inst.s.LoseLate(inst.ctx(), late[0], "no heartbeat"), task.CodeStaleLease, "renewed")
	equal(t, "state", inst.run(l.RunID).Status, task.RunRunning)
	inst.Forward(2 * time.Minute)
	ok(t, inst.s.LoseLate(inst.ctx(), late[0], "no heartbeat"))
	equal(t, "state", inst.run(l.RunID).State().String(), "failed/lost")
}
