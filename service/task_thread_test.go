package service

import (
	"testing"

	"taskyard/task"
)

func TestAQuestionGatesTheTask(t *testing.T) {
	y := newInstance(t, wakes, noApprove)
	tk := y.create(coder, "coder", noStart)
	q := must(y.s.Ask(y.ctx(), coder, tk.ID, " which color? ", false))
	equal(t, "kind", q.Kind, task.KindQuestion)
	equal(t, "text", q.Content, "which color?")
	equal(t, "waiting for", y.task(tk.ID).WaitingFor, task.WaitsUser)

	t.Run("signups leave it alone", func(t *testing.T) {
		if got := y.signup(coder); got != nil {
			t.Fatalf("task %d was given", got.ID)
		}
	})
	t.Run("it cannot be claimed by its status", func(t *testing.T) {
		_, err := y.patchStatus(tk.ID, "working")
		refused(t, err, task.CodeTaskGated, "question")
	})
	t.Run("ticks skip it with the reason", func(t *testing.T) {
		equal(t, "tick", must(y.s.Tick(y.ctx(), "cron")).Queued, 0)
		equal(t, "reason", y.skips()[tk.ID], "question open")
	})
	t.Run("wakes do nothing", func(t *testing.T) {
		must(y.s.Comment(y.ctx(), maya, tk.ID, "thinking"))
		equal(t, "runs", len(y.runs(tk.ID)), 0)
	})
	t.Run("nobody can run it by hand", func(t *testing.T) {
		_, err := y.s.RunNow(y.ctx(), maya, tk.ID)
		refused(t, err, task.CodeTaskGated, "question")
	})
	t.Run("a second question is refused", func(t *testing.T) {
		_, err := y.s.Ask(y.ctx(), coder, tk.ID, "and which size?", false)
		refused(t, err, task.CodeQuestionOpen)
	})
	t.Run("a notice is not", func(t *testing.T) {
		m := must(y.s.Notify(y.ctx(), coder, tk.ID, "by the way"))
		equal(t, "kind", m.Kind, task.KindNotice)
	})
	t.Run("an agent cannot answer", func(t *testing.T) {
		for _, a := range []task.Actor{coder, reviewer} {
			_, err := y.s.Reply(y.ctx(), a, tk.ID, "blue")
			refused(t, err, task.CodeForbidden)
		}
		equal(t, "waiting for", y.task(tk.ID).WaitingFor, task.WaitsUser)
	})
	t.Run("a blank answer is refused", func(t *testing.T) {
		_, err := y.s.Reply(y.ctx(), oleg, tk.ID, " ")
		refused(t, err, task.CodeInvalidField, "content")
	})
	t.Run("a person's answer closes it and wakes the owner", func(t *testing.T) {
		m := must(y.s.Reply(y.ctx(), oleg, tk.ID, "blue"))
		equal(t, "kind", m.Kind, task.KindAnswer)
		equal(t, "waiting for", y.task(tk.ID).WaitingFor, task.WaitingFor(""))
		equal(t, "cause", y.openRun(tk.ID).Cause, task.CauseWake)
	})
	t.Run("there is nothing to answer then", func(t *testing.T) {
		_, err := y.s.Reply(y.ctx(), oleg, tk.ID, "blue!")
		refused(t, err, task.CodeNoQuestion)
	})
	t.Run("a draft cannot ask", func(t *testing.T) {
		d := y.create(coder, "coder", draft)
		_, err := y.s.Ask(y.ctx(), coder, d.ID, "?", false)
		refused(t, err, task.CodeTaskNotActive)
	})
}

// skips returns the receipts of the last tick by task.
func (y *instance) skips() map[task.ID]string {
	y.t.Helper()
	out := map[task.ID]string{}
	for _, s := range must(y.s.Scheduler(y.ctx(), maya)).Skips {
		out[s.TaskID] = s.Reason
	}
	return out
}

func TestThreads(t *testing.T) {
	y := newInstance(t)
	t.Run("the thread keeps its id when the owner changes", func(t *testing.T) {
		tk := y.working(coder)
		now := must(y.move(coder, tk.ID, "coder", "pull", "x"))
		equal(t, "thread", now.ThreadID, tk.ThreadID)
	})
	t.Run("the channel is web, or what was said at the start", func(t *testing.T) {
		equal(t, "channel", y.create(maya, "coder", noStart).Channel, "web")
		equal(t, "channel", y.create(maya, "coder", noStart, func(in *task.New) { in.Channel = "mail" }).Channel, "mail")
	})
	t.Run("any agent may comment on any open task, but not ask for it", func(t *testing.T) {
		tk := y.create(maya, "coder", noStart)
		must(y.s.Comment(y.ctx(), reviewer, tk.ID, " looks good "))
		equal(t, "comment", last(y.task(tk.ID).Comments).Content, "looks good")
		_, err := y.s.Ask(y.ctx(), reviewer, tk.ID, "?", false)
		refused(t, err, task.CodeForbidden)
	})
	t.Run("messages come in order, after an id", func(t *testing.T) {
		tk := y.create(maya, "coder", noStart)
		var ids []task.ID
		for _, text := range []string{"a", "b", "c"} {
			ids = append(ids, must(y.s.Comment(y.ctx(), maya, tk.ID, text)).ID)
		}
		list := must(y.s.Thread(y.ctx(), vera, tk.ID, ids[0], 10))
		equal(t, "messages", len(list), 2)
		equal(t, "first", list[0].Content, "b")
	})
	t.Run("an unknown task has none", func(t *testing.T) {
		_, err := y.s.Thread(y.ctx(), vera, 99999, 0, 10)
		refused(t, err, task.CodeTaskNotFound)
	})
}
