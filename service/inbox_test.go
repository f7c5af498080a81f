package service

import (
	"slices"
	"testing"

	"taskyard/task"
)

func (y *instance) inbox() task.Inbox {
	y.t.Helper()
	b := must(y.s.Inbox(y.ctx(), vera))
	shown := len(b.Questions) + len(b.Approvals) + len(b.Stuck) + len(b.BlockerCanceled) + len(b.Notices)
	if b.Totals.All() < shown {
		y.t.Fatalf("%d shown, totals %+v", shown, b.Totals)
	}
	equal(y.t, "count of the navigation", must(y.s.Overview(y.ctx(), vera)).Inbox, b.Totals.All())
	return b
}

func TestTheInboxHoldsWhatWaitsForAPerson(t *testing.T) {
	t.Run("an open question, until it is answered or its task is closed", func(t *testing.T) {
		y := newInstance(t)
		later, first := y.create(maya, "coder", noStart), y.create(maya, "coder", noStart, title("Which way?"))
		must(y.s.Ask(y.ctx(), coder, first.ID, "left?", false))
		must(y.s.Ask(y.ctx(), coder, later.ID, "right?", false))
		q := y.inbox().Questions
		equal(t, "questions", len(q), 2)
		want := task.InboxItem{
			TaskID: first.ID, Title: "Which way?", Owner: "coder",
			MessageID: y.task(first.ID).QuestionID, Author: "coder", Text: "left?", At: y.s.Now(),
		}
		equal(t, "the oldest question", q[0], want)
		must(y.s.Reply(y.ctx(), maya, first.ID, "yes"))
		must(y.s.CompleteTask(y.ctx(), maya, later.ID, "", 0))
		equal(t, "left", y.inbox().Totals, task.InboxTotals{})
	})
	t.Run("a run before approval, until it is decided", func(t *testing.T) {
		y := newInstance(t)
		_, r := y.waits()
		equal(t, "run", y.inbox().Approvals[0].ID, r.ID)
		y.approve(r.ID, task.ScopeOnce)
		equal(t, "left", y.inbox().Totals, task.InboxTotals{})
	})
	t.Run("a stuck task with the reason, until somebody has it run or works on it", func(t *testing.T) {
		y := newInstance(t)
		tk := y.create(maya, "coder", noStart)
		must(y.s.RunNow(y.ctx(), maya, tk.ID))
		f := failure(task.PhaseError)
		y.finish(y.start(), f)
		equal(t, "one failure", y.inbox().Totals.Stuck, 0)
		must(y.s.CancelRun(y.ctx(), maya, y.openRun(tk.ID).ID, ""))
		f.Permanent = true
		st := must(y.s.RunNow(y.ctx(), coder, tk.ID))
		y.finish(y.start(), f)
		s := y.inbox().Stuck
		equal(t, "stuck", len(s), 1)
		equal(t, "reason", s[0].Text, "it broke")
		equal(t, "run", s[0].RunID, st.ID)
		y.signup(coder)
		equal(t, "while it is claimed", y.inbox().Totals.Stuck, 0)
		must(y.s.ReleaseClaim(y.ctx(), coder, tk.ID, 0))
		equal(t, "released", y.inbox().Totals.Stuck, 1)
		must(y.s.RetryRun(y.ctx(), maya, st.ID))
		equal(t, "left", y.inbox().Totals, task.InboxTotals{})
	})
	t.Run("a denied task, with what the reviewer said", func(t *testing.T) {
		y := newInstance(t)
		tk, r := y.waits()
		must(y.s.DenyRun(y.ctx(), rita, r.ID, "not today", 0))
		s := y.inbox().Stuck
		equal(t, "task", s[0].TaskID, tk.ID)
		equal(t, "reason", s[0].Text, "not today")
	})
	t.Run("a task whose blocker was canceled, until a person decides", func(t *testing.T) {
		y := newInstance(t)
		blocker, tk := y.create(maya, "coder", noStart), y.create(maya, "planner", noStart, title("Comes after"))
		must(y.s.SetBlockedBy(y.ctx(), maya, tk.ID, []task.ID{blocker.ID}))
		equal(t, "while it may still be done", y.inbox().Totals, task.InboxTotals{})
		must(y.s.CancelTask(y.ctx(), maya, blocker.ID, ""))
		b := y.inbox().BlockerCanceled
		equal(t, "tasks", len(b), 1)
		equal(t, "title", b[0].Title, "Comes after")
		must(y.s.SetBlockedBy(y.ctx(), maya, tk.ID, nil))
		equal(t, "left", y.inbox().Totals, task.InboxTotals{})
	})
	t.Run("at most fifty of each kind, and the whole number", func(t *testing.T) {
		y := newInstance(t)
		for range task.MaxInbox + 2 {
			tk := y.create(maya, "coder", noStart)
			must(y.s.Ask(y.ctx(), coder, tk.ID, "?", false))
			must(y.s.Notify(y.ctx(), coder, tk.ID, "!"))
		}
		b := y.inbox()
		equal(t, "questions", len(b.Questions), task.MaxInbox)
		equal(t, "notices", len(b.Notices), task.MaxInbox)
		equal(t, "totals", b.Totals, task.InboxTotals{Questions: task.MaxInbox + 2, Notices: task.MaxInbox + 2})
	})
	t.Run("and nobody without a right reads it", func(t *testing.T) {
		y := newInstance(t)
		_, err := y.s.Inbox(y.ctx(), task.Actor{})
		refused(t, err, task.CodeUnauthorized)
	})
}

func TestNoticesWaitUntilAcknowledged(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder", noStart)
	first := must(y.s.Notify(y.ctx(), coder, tk.ID, "half done"))
	second := must(y.s.Notify(y.ctx(), coder, tk.ID, "done"))
	equal(t, "newest first", y.inbox().Notices[0].MessageID, second.ID)
	t.Run("comments, hand-overs and questions are none", func(t *testing.T) {
		m := must(y.s.Comment(y.ctx(), coder, tk.ID, "hm"))
		for _, id := range []task.ID{m.ID, 999} {
			_, err := y.s.AcknowledgeNotice(y.ctx(), maya, id)
			refused(t, err, task.CodeNotFound)
		}
		equal(t, "notices", y.inbox().Totals.Notices, 2)
	})
	t.Run("an acknowledged one is gone, with a line in the log", func(t *testing.T) {
		got := must(y.s.AcknowledgeNotice(y.ctx(), oleg, first.ID))
		equal(t, "content", got.Content, "half done")
		equal(t, "event", last(y.kinds(tk.ID)), task.EvAcknowledged)
		equal(t, "left", y.inbox().Notices[0].MessageID, second.ID)
	})
	t.Run("twice changes nothing", func(t *testing.T) {
		before := y.lastEvent()
		must(y.s.AcknowledgeNotice(y.ctx(), maya, first.ID))
		equal(t, "last event", y.lastEvent(), before)
	})
	t.Run("those of a task that is done remain, and can be acknowledged", func(t *testing.T) {
		must(y.s.CompleteTask(y.ctx(), coder, tk.ID, "", 0))
		equal(t, "notices", y.inbox().Totals.Notices, 1)
		must(y.s.AcknowledgeNotice(y.ctx(), maya, second.ID))
		equal(t, "left", y.inbox().Totals.All(), 0)
	})
	t.Run("neither viewers nor agents acknowledge", func(t *testing.T) {
		for _, a := range []task.Actor{vera, coder} {
			_, err := y.s.AcknowledgeNotice(y.ctx(), a, first.ID)
			refused(t, err, task.CodeForbidden)
		}
	})
}

func TestTheInboxIsLive(t *testing.T) {
	y := newInstance(t)
	f := failure(task.PhaseError)
	f.Permanent = true
	tk := y.create(maya, "coder", noStart)
	asked := y.create(maya, "coder", noStart)
	note := task.Message{}
	var run *task.Run
	for _, step := range []struct {
		name string
		act  func()
		want bool
	}{
		{"a comment", func() { must(y.s.Comment(y.ctx(), coder, tk.ID, "x")) }, false},
		{"a question", func() { must(y.s.Ask(y.ctx(), coder, asked.ID, "?", false)) }, true},
		{"an answer", func() { must(y.s.Reply(y.ctx(), maya, asked.ID, "!")) }, true},
		{"a notice", func() { note = must(y.s.Notify(y.ctx(), coder, tk.ID, "!")) }, true},
		{"its acknowledgement", func() { must(y.s.AcknowledgeNotice(y.ctx(), maya, note.ID)) }, true},
		{"a run without approval", func() { must(y.s.RunNow(y.ctx(), maya, tk.ID)) }, false},
		{"a failure for good", func() { y.finish(y.start(), f) }, true},
		{"a run of what is stuck", func() { run = must(y.s.RunNow(y.ctx(), maya, tk.ID)) }, true},
		{"a canceled run without approval", func() { must(y.s.CancelRun(y.ctx(), maya, run.ID, "")) }, false},
		{"a run with approval", func() { _, run = y.waits() }, true},
		{"its end", func() { must(y.s.CancelRun(y.ctx(), maya, run.ID, "")) }, true},
		{"a question of a task that is completed", func() {
			must(y.s.Ask(y.ctx(), coder, asked.ID, "?", false))
			must(y.s.CompleteTask(y.ctx(), maya, asked.ID, "", 0))
		}, true},
	} {
		t.Run(step.name, func(t *testing.T) {
			sub := y.s.Hub().Subscribe("inbox", "events")
			defer sub.Close()
			step.act()
			if got := slices.Contains(sub.Take(), "inbox"); got != step.want {
				t.Errorf("the inbox is told: %v, want %v", got, step.want)
			}
		})
	}
}
