package service

import (
	"strings"
	"testing"

	"taskyard/task"
)

var steerable = script(Runner{RunnerTraits: task.RunnerTraits{Steers: true}})

// startSteerable starts a run of coder and marks it as working.
func (inst *instance) startSteerable(t *testing.T) *Start {
	t.Helper()
	tk := inst.create(maya, "coder", noStart)
	st := inst.runTask(tk.ID)
	ok(t, inst.s.RunWorking(inst.ctx(), st.Run.ID, st.Run.Lease, 0, "", ""))
	return st
}

// comments returns "author: text" of the comments on a task.
func (inst *instance) comments(id task.ID) (list []string) {
	for _, m := range must(inst.s.Comments(inst.ctx(), maya, id, 0, 100)) {
		list = append(list, m.Author+": "+m.Content)
	}
	return list
}

func (inst *instance) deliver(t *testing.T, r *task.Run) (texts []string) {
	t.Helper()
	for _, m := range must(inst.s.QueuedRunMessages(inst.ctx(), r.ID, r.Lease)) {
		ok(t, inst.s.DeliverRunMessage(inst.ctx(), r.ID, r.Lease, m.ID))
		texts = append(texts, m.Text)
	}
	return texts
}

func TestAMessageReachesTheRunOnce(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, noApprove, steerable)
	r := inst.startSteerable(t).Run
	sub := inst.s.FollowRunMessages(r.ID)
	defer sub.Close()
	m := must(inst.s.SendRunMessage(inst.ctx(), oleg, r.ID, " use tabs \n"))
	if m.Author != "user:oleg" || m.Text != "use tabs" || m.Delivered() {
		t.Errorf("got message %+v", m)
	}
	select {
	case <-sub.C:
	default:
		t.Error("followers of the run were not notified")
	}
	equal(t, "delivered", strings.Join(inst.deliver(t, r), "|"), "use tabs")
	ok(t, inst.s.DeliverRunMessage(inst.ctx(), r.ID, r.Lease, m.ID)) // a second time
	equal(t, "queued", len(must(inst.s.QueuedRunMessages(inst.ctx(), r.ID, r.Lease))), 0)
	list := must(inst.s.RunMessages(inst.ctx(), vera, r.ID))
	equal(t, "state", len(list) == 1 && list[0].DeliveredAt == task.TimeFromStd(inst.Now()), true)
	lines := must(inst.s.Transcript(inst.ctx(), maya, r.ID, 0, 100))
	last := lines[len(lines)-1]
	equal(t, "line", last.Author+" "+string(last.Role)+" "+last.Type+": "+last.Content, "user:oleg user message: use tabs")
	equal(t, "message lines", len(must(inst.s.TranscriptAfter(inst.ctx(), maya, r.ID, "said", 0, 10))), 1)

	ok(t, inst.s.FinishRun(inst.ctx(), r.ID, r.Lease, completed("in short")))
	equal(t, "comments", len(inst.comments(r.TaskID)), 0)
	if next := inst.openRun(r.TaskID); next != nil {
		t.Errorf("run %d follows although the agent got all messages", next.ID)
	}
	_, err := inst.s.QueuedRunMessages(inst.ctx(), r.ID, r.Lease)
	refused(t, err, task.CodeStaleLease)
	refused(t, inst.s.DeliverRunMessage(inst.ctx(), r.ID, r.Lease, m.ID), task.CodeStaleLease)
}

func TestWhoMaySendAMessageAndWhen(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, noApprove, steerable)
	r := inst.startSteerable(t).Run
	send := func(a task.Actor, run task.ID, text string) error {
		_, err := inst.s.SendRunMessage(inst.ctx(), a, run, text)
		return err
	}
	refused(t, send(coder, r.ID, "x"), task.CodeForbidden)
	refused(t, send(vera, r.ID, "x"), task.CodeForbidden)
	refused(t, send(maya, 99, "x"), task.CodeRunNotFound)
	refused(t, send(maya, r.ID, " \n"), task.CodeInvalidField, "blank")
	refused(t, send(maya, r.ID, strings.Repeat("x", task.MaxText+1)), task.CodeInvalidField, "65536")
	for range task.MaxRunMessages {
		ok(t, send(oleg, r.ID, "again"))
	}
	refused(t, send(oleg, r.ID, "again"), task.CodeNoRunMessages, "100 messages", "comment on task")
	ok(t, inst.s.RunCondensing(inst.ctx(), r.ID, r.Lease))
	refused(t, send(maya, r.ID, "x"), task.CodeNoRunMessages, "is ending", "comment on task")
	ok(t, inst.s.FinishRun(inst.ctx(), r.ID, r.Lease, completed("done")))
	refused(t, send(maya, r.ID, "x"), task.CodeRunEnded, "has ended: completed", "comment on task")

	tk := inst.create(maya, "coder", noStart)
	waiting := must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
	refused(t, send(maya, waiting.ID, "x"), task.CodeNoRunMessages, "has not started")

	deaf := newInstance(t, noApprove)
	_, err := deaf.s.SendRunMessage(deaf.ctx(), maya, deaf.startSteerable(t).Run.ID, "x")
	refused(t, err, task.CodeNoRunMessages, "its runner cannot pass them on", "comment on task 1 instead")
}

func TestUndeliveredMessagesAreKept(t *testing.T) {
	t.Parallel()
	withMessages := func(t *testing.T) (*instance, *task.Run) {
		t.Helper()
		inst := newInstance(t, wakes, noApprove, steerable)
		r := inst.startSteerable(t).Run
		must(inst.s.SendRunMessage(inst.ctx(), oleg, r.ID, "use tabs"))
		ok(inst.t, inst.s.DeliverRunMessage(inst.ctx(), r.ID, r.Lease, 1))
		must(inst.s.SendRunMessage(inst.ctx(), rita, r.ID, "and a test"))
		must(inst.s.SendRunMessage(inst.ctx(), rita, r.ID, "two tests"))
		return inst, r
	}
	t.Run("as comments with another run, after a completed run", func(t *testing.T) {
		t.Parallel()
		inst, r := withMessages(t)
		ok(t, inst.s.FinishRun(inst.ctx(), r.ID, r.Lease, completed("done")))
		equal(t, "comments", strings.Join(inst.comments(r.TaskID), "|"), "user:rita: and a test|user:rita: two tests")
		next := inst.openRun(r.TaskID)
		if next == nil || next.Cause != task.CauseFollowUp || next.StartReason != "message by user:rita that run 1 did not get" {
			t.Fatalf("got next run %+v", next)
		}
		st := inst.start()
		for _, text := range []string{"and a test", "two tests"} {
			if !strings.Contains(st.Spec.Prompt, text) {
				t.Errorf("the prompt does not contain %q", text)
			}
		}
		ok(t, inst.s.FinishRun(inst.ctx(), st.Run.ID, st.Run.Lease, completed("done")))
		inst.wantNoRun(t, r.TaskID)
	})
	t.Run("as comments for the retry, all of them, after a failed run", func(t *testing.T) {
		t.Parallel()
		inst, r := withMessages(t)
		ok(t, inst.s.LoseRun(inst.ctx(), inst.run(r.ID), "the server was killed"))
		equal(t, "comments", strings.Join(inst.comments(r.TaskID), "|"), "user:oleg: use tabs|user:rita: and a test|user:rita: two tests")
		if next := inst.openRun(r.TaskID); next == nil || next.Cause != task.CauseRetry {
			t.Errorf("got next run %+v", next)
		}
	})
	t.Run("as comments only, after a canceled run", func(t *testing.T) {
		t.Parallel()
		inst, r := withMessages(t)
		must(inst.s.CancelRun(inst.ctx(), maya, r.ID, ""))
		equal(t, "comments", len(inst.comments(r.TaskID)), 3)
		inst.wantNoRun(t, r.TaskID)
	})
	t.Run("in the transcript, if the task is archived", func(t *testing.T) {
		t.Parallel()
		inst, r := withMessages(t)
		own := coder
		own.RunID = r.ID
		must(inst.s.CompleteTask(inst.ctx(), own, r.TaskID, "all done", 0))
		ok(t, inst.s.FinishRun(inst.ctx(), r.ID, r.Lease, completed("done")))
		equal(t, "comments", len(inst.comments(r.TaskID)), 0)
		var kept []string
		for _, m := range must(inst.s.Transcript(inst.ctx(), maya, r.ID, 0, 100)) {
			if m.Type == task.TypeMessage {
				kept = append(kept, m.Author+": "+m.Content+string(m.Data))
			}
		}
		equal(t, "lines", strings.Join(kept, "|"),
			`user:oleg: use tabs|user:rita: and a test{"undelivered":true}|user:rita: two tests{"undelivered":true}`)
	})
	t.Run("queued for the next start, after the server stopped", func(t *testing.T) {
		t.Parallel()
		inst, r := withMessages(t)
		ok(t, inst.s.RequeueRun(inst.ctx(), r.ID, r.Lease))
		equal(t, "comments", len(inst.comments(r.TaskID)), 0)
		again := inst.start().Run
		equal(t, "run", again.ID, r.ID)
		equal(t, "delivered to an agent that starts over", strings.Join(inst.deliver(t, again), "|"), "use tabs|and a test|two tests")
	})
	t.Run("once, if the agent continues its conversation", func(t *testing.T) {
		t.Parallel()
		inst, r := withMessages(t)
		ok(t, inst.s.RunSession(inst.ctx(), r.ID, r.Lease, "11111111-2222", "run-1"))
		ok(t, inst.s.RequeueRun(inst.ctx(), r.ID, r.Lease))
		equal(t, "delivered", strings.Join(inst.deliver(t, inst.start().Run), "|"), "and a test|two tests")
	})
	t.Run("as comments, if a requeued run is canceled", func(t *testing.T) {
		t.Parallel()
		inst, r := withMessages(t)
		ok(t, inst.s.RequeueRun(inst.ctx(), r.ID, r.Lease))
		must(inst.s.CancelRun(inst.ctx(), maya, r.ID, ""))
		equal(t, "comments", len(inst.comments(r.TaskID)), 3)
	})
}
