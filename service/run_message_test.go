package service

import (
	"strings"
	"testing"

	"taskyard/task"
)

var steerable = script(Runner{RunnerTraits: task.RunnerTraits{Steers: true}})

// steered starts a run of coder that works.
func (y *instance) steered(t *testing.T) *Start {
	t.Helper()
	tk := y.create(maya, "coder", noStart)
	must(y.s.RunNow(y.ctx(), maya, tk.ID))
	st := y.start()
	ok(t, y.s.RunWorking(y.ctx(), st.Run.ID, st.Run.Lease, 0, "", ""))
	return st
}

// comments returns "author: text" of the comments on a task.
func (y *instance) comments(id task.ID) (list []string) {
	for _, m := range must(y.s.Comments(y.ctx(), maya, id, 0, 100)) {
		list = append(list, m.Author+": "+m.Content)
	}
	return list
}

func (y *instance) deliver(t *testing.T, r *task.Run) (texts []string) {
	t.Helper()
	for _, m := range must(y.s.QueuedRunMessages(y.ctx(), r.ID, r.Lease)) {
		ok(t, y.s.DeliverRunMessage(y.ctx(), r.ID, r.Lease, m.ID))
		texts = append(texts, m.Text)
	}
	return texts
}

func TestAMessageReachesTheRunOnce(t *testing.T) {
	t.Parallel()
	y := newInstance(t, noApprove, steerable)
	r := y.steered(t).Run
	sub := y.s.FollowRunMessages(r.ID)
	defer sub.Close()
	m := must(y.s.SendRunMessage(y.ctx(), oleg, r.ID, " use tabs \n"))
	if m.Author != "user:oleg" || m.Text != "use tabs" || m.Delivered() {
		t.Errorf("message %+v", m)
	}
	select {
	case <-sub.C:
	default:
		t.Error("whoever follows the run was told nothing")
	}
	equal(t, "delivered", strings.Join(y.deliver(t, r), "|"), "use tabs")
	ok(t, y.s.DeliverRunMessage(y.ctx(), r.ID, r.Lease, m.ID)) // again
	equal(t, "queued", len(must(y.s.QueuedRunMessages(y.ctx(), r.ID, r.Lease))), 0)
	list := must(y.s.RunMessages(y.ctx(), vera, r.ID))
	equal(t, "state", len(list) == 1 && list[0].DeliveredAt == task.TimeFromStd(y.Now()), true)
	lines := must(y.s.Transcript(y.ctx(), maya, r.ID, 0, 100))
	last := lines[len(lines)-1]
	equal(t, "line", last.Author+" "+string(last.Role)+" "+last.Type+": "+last.Content, "user:oleg user message: use tabs")
	equal(t, "lines said", len(must(y.s.TranscriptAfter(y.ctx(), maya, r.ID, "said", 0, 10))), 1)

	ok(t, y.s.FinishRun(y.ctx(), r.ID, r.Lease, completed("in short")))
	equal(t, "comments", len(y.comments(r.TaskID)), 0)
	if next := y.openRun(r.TaskID); next != nil {
		t.Errorf("run %d follows, although the agent got all", next.ID)
	}
	_, err := y.s.QueuedRunMessages(y.ctx(), r.ID, r.Lease)
	refused(t, err, task.CodeStaleLease)
	refused(t, y.s.DeliverRunMessage(y.ctx(), r.ID, r.Lease, m.ID), task.CodeStaleLease)
}

func TestWhoMaySendAMessageAndWhen(t *testing.T) {
	t.Parallel()
	y := newInstance(t, noApprove, steerable)
	r := y.steered(t).Run
	send := func(a task.Actor, run task.ID, text string) error {
		_, err := y.s.SendRunMessage(y.ctx(), a, run, text)
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
	ok(t, y.s.RunCondensing(y.ctx(), r.ID, r.Lease))
	refused(t, send(maya, r.ID, "x"), task.CodeNoRunMessages, "is ending", "comment on task")
	ok(t, y.s.FinishRun(y.ctx(), r.ID, r.Lease, completed("done")))
	refused(t, send(maya, r.ID, "x"), task.CodeRunEnded, "has ended: completed", "comment on task")

	tk := y.create(maya, "coder", noStart)
	waiting := must(y.s.RunNow(y.ctx(), maya, tk.ID))
	refused(t, send(maya, waiting.ID, "x"), task.CodeNoRunMessages, "has not started")

	deaf := newInstance(t, noApprove)
	_, err := deaf.s.SendRunMessage(deaf.ctx(), maya, deaf.steered(t).Run.ID, "x")
	refused(t, err, task.CodeNoRunMessages, "its runner cannot pass them on", "comment on task 1 instead")
}

func TestWhatARunDidNotGetIsKept(t *testing.T) {
	t.Parallel()
	said := func(y *instance, r *task.Run) {
		must(y.s.SendRunMessage(y.ctx(), oleg, r.ID, "use tabs"))
		ok(y.t, y.s.DeliverRunMessage(y.ctx(), r.ID, r.Lease, 1))
		must(y.s.SendRunMessage(y.ctx(), rita, r.ID, "and a test"))
		must(y.s.SendRunMessage(y.ctx(), rita, r.ID, "two tests"))
	}
	t.Run("as comments and one more run, after a run that completed", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t, wakes, noApprove, steerable)
		r := y.steered(t).Run
		said(y, r)
		ok(t, y.s.FinishRun(y.ctx(), r.ID, r.Lease, completed("done")))
		equal(t, "comments", strings.Join(y.comments(r.TaskID), "|"), "user:rita: and a test|user:rita: two tests")
		next := y.openRun(r.TaskID)
		if next == nil || next.Cause != task.CauseFollowUp || next.Why != "message by user:rita that run 1 did not get" {
			t.Fatalf("next run %+v", next)
		}
		st := y.start()
		for _, text := range []string{"and a test", "two tests"} {
			if !strings.Contains(st.Spec.Prompt, text) {
				t.Errorf("the prompt lacks %q", text)
			}
		}
		ok(t, y.s.FinishRun(y.ctx(), st.Run.ID, st.Run.Lease, completed("done")))
		y.asleep(t, r.TaskID)
	})
	t.Run("as comments for the retry, all of them, after one that failed", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t, wakes, noApprove, steerable)
		r := y.steered(t).Run
		said(y, r)
		ok(t, y.s.LoseRun(y.ctx(), y.run(r.ID), "the server was killed"))
		equal(t, "comments", strings.Join(y.comments(r.TaskID), "|"), "user:oleg: use tabs|user:rita: and a test|user:rita: two tests")
		if next := y.openRun(r.TaskID); next == nil || next.Cause != task.CauseRetry {
			t.Errorf("next run %+v", next)
		}
	})
	t.Run("as comments alone, after one that a person canceled", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t, wakes, noApprove, steerable)
		r := y.steered(t).Run
		said(y, r)
		must(y.s.CancelRun(y.ctx(), maya, r.ID, ""))
		equal(t, "comments", len(y.comments(r.TaskID)), 3)
		y.asleep(t, r.TaskID)
	})
	t.Run("in the transcript, where the task is archived", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t, wakes, noApprove, steerable)
		r := y.steered(t).Run
		said(y, r)
		own := coder
		own.RunID = r.ID
		must(y.s.CompleteTask(y.ctx(), own, r.TaskID, "all done", 0))
		ok(t, y.s.FinishRun(y.ctx(), r.ID, r.Lease, completed("done")))
		equal(t, "comments", len(y.comments(r.TaskID)), 0)
		var kept []string
		for _, m := range must(y.s.Transcript(y.ctx(), maya, r.ID, 0, 100)) {
			if m.Type == task.TypeMessage {
				kept = append(kept, m.Author+": "+m.Content+string(m.Data))
			}
		}
		equal(t, "lines", strings.Join(kept, "|"),
			`user:oleg: use tabs|user:rita: and a test{"undelivered":true}|user:rita: two tests{"undelivered":true}`)
	})
	t.Run("queued for the next start, when the server stopped", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t, wakes, noApprove, steerable)
		r := y.steered(t).Run
		said(y, r)
		ok(t, y.s.RequeueRun(y.ctx(), r.ID, r.Lease))
		equal(t, "comments", len(y.comments(r.TaskID)), 0)
		again := y.start().Run
		equal(t, "run", again.ID, r.ID)
		equal(t, "delivered to an agent that starts over", strings.Join(y.deliver(t, again), "|"), "use tabs|and a test|two tests")
	})
	t.Run("once, when the agent continues its conversation", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t, wakes, noApprove, steerable)
		r := y.steered(t).Run
		said(y, r)
		ok(t, y.s.RunSession(y.ctx(), r.ID, r.Lease, "11111111-2222", "run-1"))
		ok(t, y.s.RequeueRun(y.ctx(), r.ID, r.Lease))
		equal(t, "delivered", strings.Join(y.deliver(t, y.start().Run), "|"), "and a test|two tests")
	})
	t.Run("as comments, when a run is canceled that the server put back", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t, wakes, noApprove, steerable)
		r := y.steered(t).Run
		said(y, r)
		ok(t, y.s.RequeueRun(y.ctx(), r.ID, r.Lease))
		must(y.s.CancelRun(y.ctx(), maya, r.ID, ""))
		equal(t, "comments", len(y.comments(r.TaskID)), 3)
	})
}
