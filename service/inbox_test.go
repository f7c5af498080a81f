package service

import (
	"slices"
	"testing"

	"taskyard/task"
)

func (inst *instance) inbox() task.Inbox {
	inst.t.Helper()
	b := must(inst.s.Inbox(inst.ctx(), vera))
	shown := len(b.Questions) + len(b.Approvals) + len(b.Stuck) + len(b.BlockerCanceled) + len(b.Notices)
	if b.Totals.All() < shown {
		inst.t.Fatalf("got %d entries, totals %+v", shown, b.Totals)
	}
	equal(inst.t, "count of the navigation", must(inst.s.Overview(inst.ctx(), vera)).Inbox, b.Totals.All())
	return b
}

func TestTheInboxListsEntriesThatWaitForAPerson(t *testing.T) {
	t.Parallel()
	t.Run("an open question, until it is answered or its task is closed", func(t *testing.T) {
		inst := newInstance(t)
		later, first := inst.create(maya, "coder", noStart), inst.create(maya, "coder", noStart, title("Which way?"))
		must(inst.s.Ask(inst.ctx(), coder, first.ID, "left?", false))
		must(inst.s.Ask(inst.ctx(), coder, later.ID, "right?", false))
		q := inst.inbox().Questions
		equal(t, "questions", len(q), 2)
		want := task.InboxItem{
			TaskID: first.ID, Title: "Which way?", Owner: "coder",
			MessageID: inst.task(first.ID).QuestionID, Author: "coder", Text: "left?", At: inst.s.Now(),
		}
		equal(t, "the oldest question", q[0], want)
		must(inst.s.Reply(inst.ctx(), maya, first.ID, "yes"))
		must(inst.s.CompleteTask(inst.ctx(), maya, later.ID, "", 0))
		equal(t, "remaining", inst.inbox().Totals, task.InboxTotals{})
	})
	t.Run("a run before approval, until it is decided", func(t *testing.T) {
		inst := newInstance(t)
		_, r := inst.waitingTask()
		equal(t, "run", inst.inbox().Approvals[0].ID, r.ID)
		inst.approve(r.ID, task.ScopeOnce)
		equal(t, "remaining", inst.inbox().Totals, task.InboxTotals{})
	})
	t.Run("a stuck task with the reason, until it runs or is claimed", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.create(maya, "coder", noStart)
		must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
		f := failure(task.PhaseError)
		inst.finish(inst.start(), f)
		equal(t, "one failure", inst.inbox().Totals.Stuck, 0)
		must(inst.s.CancelRun(inst.ctx(), maya, inst.openRun(tk.ID).ID, ""))
		f.Permanent = true
		st := must(inst.s.RunNow(inst.ctx(), coder, tk.ID))
		inst.finish(inst.start(), f)
		s := inst.inbox().Stuck
		equal(t, "stuck", len(s), 1)
		equal(t, "reason", s[0].Text, "it broke")
		equal(t, "run", s[0].RunID, st.ID)
		inst.signup(coder)
		equal(t, "while it is claimed", inst.inbox().Totals.Stuck, 0)
		must(inst.s.ReleaseClaim(inst.ctx(), coder, tk.ID, 0))
		equal(t, "released", inst.inbox().Totals.Stuck, 1)
		must(inst.s.RetryRun(inst.ctx(), maya, st.ID))
		equal(t, "remaining", inst.inbox().Totals, task.InboxTotals{})
	})
	t.Run("a denied task, with the reviewer's reason", func(t *testing.T) {
		inst := newInstance(t)
		tk, r := inst.waitingTask()
		must(inst.s.DenyRun(inst.ctx(), rita, r.ID, "not today", 0))
		s := inst.inbox().Stuck
		equal(t, "task", s[0].TaskID, tk.ID)
		equal(t, "reason", s[0].Text, "not today")
	})
	t.Run("a task whose blocker was canceled, until a person decides", func(t *testing.T) {
		inst := newInstance(t)
		blocker, tk := inst.create(maya, "coder", noStart), inst.create(maya, "planner", noStart, title("Comes after"))
		must(inst.s.SetBlockedBy(inst.ctx(), maya, tk.ID, []task.ID{blocker.ID}))
		equal(t, "while the blocker may still be done", inst.inbox().Totals, task.InboxTotals{})
		must(inst.s.CancelTask(inst.ctx(), maya, blocker.ID, ""))
		b := inst.inbox().BlockerCanceled
		equal(t, "tasks", len(b), 1)
		equal(t, "title", b[0].Title, "Comes after")
		must(inst.s.SetBlockedBy(inst.ctx(), maya, tk.ID, nil))
		equal(t, "remaining", inst.inbox().Totals, task.InboxTotals{})
	})
	t.Run("at most fifty of each kind, and the total", func(t *testing.T) {
		inst := newInstance(t)
		for range task.MaxInbox + 2 {
			tk := inst.create(maya, "coder", noStart)
			must(inst.s.Ask(inst.ctx(), coder, tk.ID, "?", false))
			must(inst.s.Notify(inst.ctx(), coder, tk.ID, "!"))
		}
		b := inst.inbox()
		equal(t, "questions", len(b.Questions), task.MaxInbox)
		equal(t, "notices", len(b.Notices), task.MaxInbox)
		equal(t, "totals", b.Totals, task.InboxTotals{Questions: task.MaxInbox + 2, Notices: task.MaxInbox + 2})
	})
	t.Run("callers without permission cannot read it", func(t *testing.T) {
		inst := newInstance(t)
		_, err := inst.s.Inbox(inst.ctx(), task.Actor{})
		refused(t, err, task.CodeUnauthorized)
	})
}

func TestNoticesWaitUntilAcknowledged(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart)
	first := must(inst.s.Notify(inst.ctx(), coder, tk.ID, "half done"))
	second := must(inst.s.Notify(inst.ctx(), coder, tk.ID, "done"))
	equal(t, "newest first", inst.inbox().Notices[0].MessageID, second.ID)
	t.Run("comments, hand-overs and questions are not notices", func(t *testing.T) {
		m := must(inst.s.Comment(inst.ctx(), coder, tk.ID, "hm"))
		for _, id := range []task.ID{m.ID, 999} {
			_, err := inst.s.AcknowledgeNotice(inst.ctx(), maya, id)
			refused(t, err, task.CodeNotFound)
		}
		equal(t, "notices", inst.inbox().Totals.Notices, 2)
	})
	t.Run("an acknowledged notice is removed, with a line in the log", func(t *testing.T) {
		got := must(inst.s.AcknowledgeNotice(inst.ctx(), oleg, first.ID))
		equal(t, "content", got.Content, "half done")
		equal(t, "event", last(inst.kinds(tk.ID)), task.EvAcknowledged)
		equal(t, "remaining", inst.inbox().Notices[0].MessageID, second.ID)
	})
	t.Run("acknowledging twice changes nothing", func(t *testing.T) {
		before := inst.lastEvent()
		must(inst.s.AcknowledgeNotice(inst.ctx(), maya, first.ID))
		equal(t, "last event", inst.lastEvent(), before)
	})
	t.Run("notices of a done task remain and can be acknowledged", func(t *testing.T) {
		must(inst.s.CompleteTask(inst.ctx(), coder, tk.ID, "", 0))
		equal(t, "notices", inst.inbox().Totals.Notices, 1)
		must(inst.s.AcknowledgeNotice(inst.ctx(), maya, second.ID))
		equal(t, "remaining", inst.inbox().Totals.All(), 0)
	})
	t.Run("viewers and agents cannot acknowledge", func(t *testing.T) {
		for _, a := range []task.Actor{vera, coder} {
			_, err := inst.s.AcknowledgeNotice(inst.ctx(), a, first.ID)
			refused(t, err, task.CodeForbidden)
		}
	})
}

func TestTheInboxIsLive(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	f := failure(task.PhaseError)
	f.Permanent = true
	tk := inst.create(maya, "coder", noStart)
	asked := inst.create(maya, "coder", noStart)
	note := task.Message{}
	var run *task.Run
	for _, step := range []struct {
		name string
		act  func()
		want bool
	}{
		{"a comment", func() { must(inst.s.Comment(inst.ctx(), coder, tk.ID, "x")) }, false},
		{"a question", func() { must(inst.s.Ask(inst.ctx(), coder, asked.ID, "?", false)) }, true},
		{"an answer", func() { must(inst.s.Reply(inst.ctx(), maya, asked.ID, "!")) }, true},
		{"a notice", func() { note = must(inst.s.Notify(inst.ctx(), coder, tk.ID, "!")) }, true},
		{"its acknowledgement", func() { must(inst.s.AcknowledgeNotice(inst.ctx(), maya, note.ID)) }, true},
		{"a run without approval", func() { must(inst.s.RunNow(inst.ctx(), maya, tk.ID)) }, false},
		{"a permanent failure", func() { inst.finish(inst.start(), f) }, true},
		{"a run of a stuck task", func() { run = must(inst.s.RunNow(inst.ctx(), maya, tk.ID)) }, true},
		{"a canceled run without approval", func() { must(inst.s.CancelRun(inst.ctx(), maya, run.ID, "")) }, false},
		{"a run with approval", func() { _, run = inst.waitingTask() }, true},
		{"its end", func() { must(inst.s.CancelRun(inst.ctx(), maya, run.ID, "")) }, true},
		{"completing a task with a question", func() {
			must(inst.s.Ask(inst.ctx(), coder, asked.ID, "?", false))
			must(inst.s.CompleteTask(inst.ctx(), maya, asked.ID, "", 0))
		}, true},
	} {
		t.Run(step.name, func(t *testing.T) {
			sub := inst.s.Hub().Subscribe("inbox", "events")
			defer sub.Close()
			step.act()
			if got := slices.Contains(sub.Drain(), "inbox"); got != step.want {
				t.Errorf("inbox notified: got %v, want %v", got, step.want)
			}
		})
	}
}
