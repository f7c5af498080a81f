package service

import (
	"testing"

	"taskyard/task"
)

func TestAQuestionGatesTheTask(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes, noApprove)
	tk := inst.create(coder, "coder", noStart)
	q := must(inst.s.Ask(inst.ctx(), coder, tk.ID, " which color? ", false))
	equal(t, "kind", q.Kind, task.KindQuestion)
	equal(t, "text", q.Content, "which color?")
	equal(t, "waiting for", inst.task(tk.ID).WaitingFor, task.WaitsUser)

	t.Run("signups skip it", func(t *testing.T) {
		if got := inst.signup(coder); got != nil {
			t.Fatalf("got task %d", got.ID)
		}
	})
	t.Run("it cannot be claimed by its status", func(t *testing.T) {
		_, err := inst.patchStatus(tk.ID, "working")
		refused(t, err, task.CodeTaskGated, "question")
	})
	t.Run("ticks skip it with a reason", func(t *testing.T) {
		equal(t, "tick", must(inst.s.Tick(inst.ctx(), "cron")).Queued, 0)
		equal(t, "reason", inst.skips()[tk.ID], "question open")
	})
	t.Run("wakes do nothing", func(t *testing.T) {
		must(inst.s.Comment(inst.ctx(), maya, tk.ID, "thinking"))
		equal(t, "runs", len(inst.runs(tk.ID)), 0)
	})
	t.Run("it cannot be run manually", func(t *testing.T) {
		_, err := inst.s.RunNow(inst.ctx(), maya, tk.ID)
		refused(t, err, task.CodeTaskGated, "question")
	})
	t.Run("a second question is refused", func(t *testing.T) {
		_, err := inst.s.Ask(inst.ctx(), coder, tk.ID, "and which size?", false)
		refused(t, err, task.CodeQuestionOpen)
	})
	t.Run("a notice is accepted", func(t *testing.T) {
		m := must(inst.s.Notify(inst.ctx(), coder, tk.ID, "by the way"))
		equal(t, "kind", m.Kind, task.KindNotice)
	})
	t.Run("an agent cannot answer", func(t *testing.T) {
		for _, a := range []task.Actor{coder, reviewer} {
			_, err := inst.s.Reply(inst.ctx(), a, tk.ID, "blue")
			refused(t, err, task.CodeForbidden)
		}
		equal(t, "waiting for", inst.task(tk.ID).WaitingFor, task.WaitsUser)
	})
	t.Run("a blank answer is refused", func(t *testing.T) {
		_, err := inst.s.Reply(inst.ctx(), oleg, tk.ID, " ")
		refused(t, err, task.CodeInvalidField, "content")
	})
	t.Run("a person's answer closes it and wakes the owner", func(t *testing.T) {
		m := must(inst.s.Reply(inst.ctx(), oleg, tk.ID, "blue"))
		equal(t, "kind", m.Kind, task.KindAnswer)
		equal(t, "waiting for", inst.task(tk.ID).WaitingFor, task.WaitingFor(""))
		equal(t, "cause", inst.openRun(tk.ID).Cause, task.CauseWake)
	})
	t.Run("then there is nothing to answer", func(t *testing.T) {
		_, err := inst.s.Reply(inst.ctx(), oleg, tk.ID, "blue!")
		refused(t, err, task.CodeNoQuestion, "No question is open")
	})
	t.Run("whoever answers too late learns who answered", func(t *testing.T) {
		_, err := inst.s.ReplyTo(inst.ctx(), maya, tk.ID, q.ID, "green")
		refused(t, err, task.CodeNoQuestion, "oleg has already answered this question", "comment instead")
	})
	t.Run("a draft cannot ask", func(t *testing.T) {
		d := inst.create(coder, "coder", draft)
		_, err := inst.s.Ask(inst.ctx(), coder, d.ID, "?", false)
		refused(t, err, task.CodeTaskNotActive)
	})
}

// skips returns the receipts of the last tick by task.
func (inst *instance) skips() map[task.ID]string {
	inst.t.Helper()
	out := map[task.ID]string{}
	for _, s := range must(inst.s.Scheduler(inst.ctx(), maya)).Skips {
		out[s.TaskID] = s.Reason
	}
	return out
}

func TestThreads(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	t.Run("the thread keeps its ID when the owner changes", func(t *testing.T) {
		tk := inst.claimedTask(coder)
		now := must(inst.move(coder, tk.ID, "coder", "pull", "x"))
		equal(t, "thread", now.ThreadID, tk.ThreadID)
	})
	t.Run("the channel is web, or the one given at creation", func(t *testing.T) {
		equal(t, "channel", inst.create(maya, "coder", noStart).Channel, "web")
		equal(t, "channel", inst.create(maya, "coder", noStart, func(in *task.New) { in.Channel = "mail" }).Channel, "mail")
	})
	t.Run("any agent may comment on any open task, but only its owner may ask", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart)
		must(inst.s.Comment(inst.ctx(), reviewer, tk.ID, " looks good "))
		equal(t, "comment", last(inst.task(tk.ID).Comments).Content, "looks good")
		_, err := inst.s.Ask(inst.ctx(), reviewer, tk.ID, "?", false)
		refused(t, err, task.CodeForbidden)
	})
	t.Run("messages are returned in order, after an ID", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart)
		var ids []task.ID
		for _, text := range []string{"a", "b", "c"} {
			ids = append(ids, must(inst.s.Comment(inst.ctx(), maya, tk.ID, text)).ID)
		}
		list := must(inst.s.Thread(inst.ctx(), vera, tk.ID, ids[0], 10))
		equal(t, "messages", len(list), 2)
		equal(t, "first", list[0].Content, "b")
	})
	t.Run("an unknown task has none", func(t *testing.T) {
		_, err := inst.s.Thread(inst.ctx(), vera, 99999, 0, 10)
		refused(t, err, task.CodeTaskNotFound)
	})
}
