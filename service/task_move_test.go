package service

import (
	"strings"
	"testing"

	"taskyard/task"
)

func (inst *instance) move(a task.Actor, id task.ID, from, to, comment string) (*task.Task, error) {
	return inst.s.MoveTask(inst.ctx(), a, Move{TaskID: id, CurrentAgent: from, NewAgent: to, Comment: comment})
}

// claimedTask creates a task that its owner has claimed.
func (inst *instance) claimedTask(a task.Actor, with ...func(*task.New)) *task.Task {
	inst.t.Helper()
	tk := inst.create(maya, a.Name, append(with, noStart)...)
	return must(inst.patchStatus(tk.ID, "working"))
}

func TestMove(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	t.Run("changes the owner, releases the claim and comments, in one change", func(t *testing.T) {
		tk := inst.claimedTask(coder, priority(7))
		inst.Forward(1e9)
		now := must(inst.move(coder, tk.ID, "coder", "reviewer", "  please review \n"))
		equal(t, "owner", now.Owner, "reviewer")
		equal(t, "work status", now.WorkStatus, task.Idle)
		equal(t, "priority", now.Priority, 7)
		equal(t, "created at", now.CreatedAt, tk.CreatedAt)
		equal(t, "thread", now.ThreadID, tk.ThreadID)
		c := last(now.Comments)
		equal(t, "comment", c.Content, "please review")
		equal(t, "author", c.Author, "coder")
		equal(t, "kind", c.Kind, task.KindHandoff)
		equal(t, "next of the new owner", inst.signup(reviewer).ID, tk.ID)
	})
	t.Run("to oneself is legal", func(t *testing.T) {
		tk := inst.claimedTask(coder)
		now := must(inst.move(coder, tk.ID, "coder", "coder", "again later"))
		equal(t, "owner", now.Owner, "coder")
		equal(t, "work status", now.WorkStatus, task.Idle)
	})
	t.Run("a person may move for any agent", func(t *testing.T) {
		tk := inst.claimedTask(coder)
		now := must(inst.move(oleg, tk.ID, "coder", "pull", "rather you"))
		equal(t, "owner", now.Owner, "pull")
		equal(t, "author", last(now.Comments).Author, "coder")
	})
	t.Run("an agent moves only as itself", func(t *testing.T) {
		tk := inst.claimedTask(coder)
		_, err := inst.move(reviewer, tk.ID, "coder", "reviewer", "mine")
		refused(t, err, task.CodeNotYourName, "reviewer", "coder")
	})
}

func TestRefusedMovesSayWhy(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.claimedTask(coder)
	idle := inst.create(maya, "coder", noStart)
	draft := inst.create(maya, "coder", draft)
	done, canceled := inst.taskWithStatus(task.Done), inst.taskWithStatus(task.Canceled)
	id := func(tk *task.Task) string { return tk.ID.String() }
	for name, c := range map[string]struct {
		task     task.ID
		from, to string
		code     task.Code
		message  string
	}{
		"unknown task": {99999, "coder", "pull", task.CodeTaskNotFound, "Task not found: 99999"},
		"another owner": {tk.ID, "pull", "coder", task.CodeNotAssigned, "Task " + id(tk) +
			" is not assigned to pull (currently assigned to: coder)"},
		"done": {done.ID, "coder", "pull", task.CodeArchived, "Task " + id(done) +
			" is complete and cannot be transferred (current status: complete)"},
		"canceled": {canceled.ID, "coder", "pull", task.CodeArchived, "Task " + id(canceled) +
			" is canceled and cannot be transferred (current status: canceled)"},
		"idle": {idle.ID, "coder", "pull", task.CodeNotWorking, "Task " + id(idle) + " is not in working status (current status: idle)"},
		"draft": {draft.ID, "coder", "pull", task.CodeNotWorking, "Task " +
			id(draft) + " is not in working status (current status: draft)"},
		"unknown agent": {
			tk.ID, "coder", "zoe", task.CodeUnknownAgent,
			"unknown agent: zoe (known agents: code-focused, coder, general-purpose, mute, planner, pull, reviewer)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			last := inst.lastEvent()
			_, err := inst.move(maya, c.task, c.from, c.to, "over to you")
			e := refused(t, err, c.code)
			equal(t, "message", e.Message, c.message)
			equal(t, "last event", inst.lastEvent(), last)
		})
	}
	t.Run("the error for a blank comment names the field", func(t *testing.T) {
		for _, text := range []string{"", " \n\t ", "a\x00b", strings.Repeat("a", task.MaxText+1)} {
			_, err := inst.move(coder, tk.ID, "coder", "pull", text)
			refused(t, err, task.CodeInvalidField, "comment")
		}
	})
	equal(t, "owner", inst.task(tk.ID).Owner, "coder")
	equal(t, "work status", inst.task(tk.ID).WorkStatus, task.Working)
}

func TestReassign(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	t.Run("moves working and idle tasks with a comment each", func(t *testing.T) {
		a, b := inst.claimedTask(coder), inst.create(maya, "coder", noStart)
		out := must(inst.s.Reassign(inst.ctx(), coder, "coder", []task.ID{a.ID, b.ID, a.ID}, "pull", "holiday"))
		equal(t, "tasks", len(out), 2)
		for _, id := range []task.ID{a.ID, b.ID} {
			tk := inst.task(id)
			equal(t, "owner", tk.Owner, "pull")
			equal(t, "work status", tk.WorkStatus, task.Idle)
			equal(t, "comment", last(tk.Comments).Content, "holiday")
		}
	})
	t.Run("moves all or none", func(t *testing.T) {
		a := inst.claimedTask(coder)
		foreign, done := inst.create(maya, "pull", noStart), inst.taskWithStatus(task.Done)
		for _, c := range []struct {
			bad  task.ID
			code task.Code
		}{{foreign.ID, task.CodeNotAssigned}, {done.ID, task.CodeArchived}, {99999, task.CodeTaskNotFound}} {
			last := inst.lastEvent()
			_, err := inst.s.Reassign(inst.ctx(), coder, "coder", []task.ID{a.ID, c.bad}, "reviewer", "x")
			refused(t, err, c.code)
			equal(t, "last event", inst.lastEvent(), last)
			equal(t, "owner", inst.task(a.ID).Owner, "coder")
			equal(t, "work status", inst.task(a.ID).WorkStatus, task.Working)
		}
	})
	t.Run("needs tasks and a comment", func(t *testing.T) {
		_, err := inst.s.Reassign(inst.ctx(), coder, "coder", nil, "pull", " ")
		refused(t, err, task.CodeInvalidField, "taskIds", "comment")
	})
}
