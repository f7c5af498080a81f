package service

import (
	"testing"
	"time"

	"taskyard/task"
)

func TestHandOver(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes, noApprove)
	hand := func(id task.ID, from, to string) (*task.Task, error) {
		return inst.s.HandOver(inst.ctx(), oleg, HandOver{TaskID: id, From: from, To: to, Comment: " over to you\n"})
	}
	t.Run("works for claimed and unclaimed tasks, in the person's name", func(t *testing.T) {
		for _, tk := range []*task.Task{inst.create(maya, "coder", noStart), inst.claimedTask(coder), inst.create(maya, "coder", draft)} {
			now := must(hand(tk.ID, "coder", "reviewer"))
			equal(t, "owner", now.Owner, "reviewer")
			equal(t, "claim", now.Claim, nil)
			c := last(now.Comments)
			equal(t, "comment", c.Content, "over to you")
			equal(t, "author", c.Author, "user:oleg")
			equal(t, "kind", c.Kind, task.KindHandoff)
			equal(t, "woken", now.OpenRunID != 0, now.Status == task.Active)
		}
	})
	t.Run("does not wake the owner if it is quiet", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart)
		now := must(inst.s.HandOver(inst.ctx(), oleg, HandOver{TaskID: tk.ID, From: "coder", To: "reviewer", Comment: "x", Quiet: true}))
		equal(t, "run", now.OpenRunID, 0)
	})
	t.Run("is refused after another hand-over, naming its author", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart)
		must(inst.s.HandOver(inst.ctx(), rita, HandOver{TaskID: tk.ID, From: "coder", To: "reviewer", Comment: "x"}))
		_, err := hand(tk.ID, "coder", "pull")
		refused(t, err, task.CodeNotAssigned, "currently assigned to: reviewer", "by rita at 09:00 UTC")
	})
	t.Run("is refused for archived tasks, naming who archived them", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart)
		must(inst.s.CompleteTask(inst.ctx(), coder, tk.ID, "", 0))
		_, err := hand(tk.ID, "coder", "pull")
		refused(t, err, task.CodeArchived, "is done, by coder at 09:00 UTC")
	})
	t.Run("writes nothing if an input is invalid", func(t *testing.T) {
		tk := inst.create(maya, "coder", noStart)
		for _, h := range []HandOver{{To: "nobody", Comment: "x"}, {To: "bad", Comment: "x"}, {To: "pull", Comment: " \n"}} {
			h.TaskID, h.From = tk.ID, "coder"
			if _, err := inst.s.HandOver(inst.ctx(), oleg, h); err == nil {
				t.Errorf("%+v was accepted", h)
			}
		}
		_, err := inst.s.HandOver(inst.ctx(), coder, HandOver{TaskID: tk.ID, From: "coder", To: "pull", Comment: "x"})
		refused(t, err, task.CodeForbidden)
		equal(t, "version", must(inst.s.Task(inst.ctx(), maya, tk.ID)).Version, tk.Version)
	})
}

func TestReprioritize(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", priority(5), noStart)
	set := func(was, to int) (*task.Task, error) { return inst.s.Reprioritize(inst.ctx(), oleg, tk.ID, was, to) }
	now := must(set(5, 6))
	equal(t, "priority", now.Priority, 6)
	t.Run("a repeat changes nothing", func(t *testing.T) {
		equal(t, "version", must(set(5, 6)).Version, now.Version)
	})
	t.Run("is refused with a stale value, naming who changed it", func(t *testing.T) {
		inst.Forward(time.Minute)
		e := refused(t, onlyErr(set(5, 4)), task.CodeStaleVersion, "is now 6, not 5", "by oleg at 09:00 UTC")
		equal(t, "current priority", e.Task.Priority, 6)
	})
	t.Run("has bounds", func(t *testing.T) {
		refused(t, onlyErr(set(6, task.MaxPriority+1)), task.CodeInvalidField, "priority")
	})
}

func onlyErr[T any](_ T, err error) error { return err }
