package service

import (
	"strings"
	"testing"

	"taskyard/task"
)

func (y *instance) move(a task.Actor, id task.ID, from, to, comment string) (*task.Task, error) {
	return y.s.MoveTask(y.ctx(), a, Move{TaskID: id, CurrentAgent: from, NewAgent: to, Comment: comment})
}

// working makes a task that its owner works on.
func (y *instance) working(a task.Actor, with ...func(*task.New)) *task.Task {
	y.t.Helper()
	tk := y.create(maya, a.Name, append(with, noStart)...)
	return must(y.patchStatus(tk.ID, "working"))
}

func TestMove(t *testing.T) {
	y := newInstance(t)
	t.Run("changes the owner, releases the claim and comments, in one go", func(t *testing.T) {
		tk := y.working(coder, priority(7))
		y.Forward(1e9)
		now := must(y.move(coder, tk.ID, "coder", "reviewer", "  please review \n"))
		equal(t, "owner", now.Owner, "reviewer")
		equal(t, "work status", now.WorkStatus, task.Idle)
		equal(t, "priority", now.Priority, 7)
		equal(t, "created at", now.CreatedAt, tk.CreatedAt)
		equal(t, "thread", now.ThreadID, tk.ThreadID)
		c := last(now.Comments)
		equal(t, "comment", c.Content, "please review")
		equal(t, "author", c.Author, "coder")
		equal(t, "kind", c.Kind, task.KindHandoff)
		equal(t, "next of the new owner", y.signup(reviewer).ID, tk.ID)
	})
	t.Run("to oneself is legal", func(t *testing.T) {
		tk := y.working(coder)
		now := must(y.move(coder, tk.ID, "coder", "coder", "again later"))
		equal(t, "owner", now.Owner, "coder")
		equal(t, "work status", now.WorkStatus, task.Idle)
	})
	t.Run("a person may move for any agent", func(t *testing.T) {
		tk := y.working(coder)
		now := must(y.move(oleg, tk.ID, "coder", "pull", "rather you"))
		equal(t, "owner", now.Owner, "pull")
		equal(t, "author", last(now.Comments).Author, "coder")
	})
	t.Run("an agent moves as itself only", func(t *testing.T) {
		tk := y.working(coder)
		_, err := y.move(reviewer, tk.ID, "coder", "reviewer", "mine")
		refused(t, err, task.CodeNotYourName, "reviewer", "coder")
	})
}

func TestRefusedMovesSayWhy(t *testing.T) {
	y := newInstance(t)
	tk := y.working(coder)
	idle := y.create(maya, "coder", noStart)
	draft := y.create(maya, "coder", draft)
	done, canceled := y.in(task.Done), y.in(task.Canceled)
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
			last := y.lastEvent()
			_, err := y.move(maya, c.task, c.from, c.to, "over to you")
			e := refused(t, err, c.code)
			equal(t, "message", e.Message, c.message)
			equal(t, "last event", y.lastEvent(), last)
		})
	}
	t.Run("a blank comment is refused by field", func(t *testing.T) {
		for _, text := range []string{"", " \n\t ", "a\x00b", strings.Repeat("a", task.MaxText+1)} {
			_, err := y.move(coder, tk.ID, "coder", "pull", text)
			refused(t, err, task.CodeInvalidField, "comment")
		}
	})
	equal(t, "owner", y.task(tk.ID).Owner, "coder")
	equal(t, "work status", y.task(tk.ID).WorkStatus, task.Working)
}

func TestReassign(t *testing.T) {
	y := newInstance(t)
	t.Run("moves working and idle tasks with a comment each", func(t *testing.T) {
		a, b := y.working(coder), y.create(maya, "coder", noStart)
		out := must(y.s.Reassign(y.ctx(), coder, "coder", []task.ID{a.ID, b.ID, a.ID}, "pull", "holiday"))
		equal(t, "tasks", len(out), 2)
		for _, id := range []task.ID{a.ID, b.ID} {
			tk := y.task(id)
			equal(t, "owner", tk.Owner, "pull")
			equal(t, "work status", tk.WorkStatus, task.Idle)
			equal(t, "comment", last(tk.Comments).Content, "holiday")
		}
	})
	t.Run("moves all or nothing", func(t *testing.T) {
		a := y.working(coder)
		foreign, done := y.create(maya, "pull", noStart), y.in(task.Done)
		for _, c := range []struct {
			bad  task.ID
			code task.Code
		}{{foreign.ID, task.CodeNotAssigned}, {done.ID, task.CodeArchived}, {99999, task.CodeTaskNotFound}} {
			last := y.lastEvent()
			_, err := y.s.Reassign(y.ctx(), coder, "coder", []task.ID{a.ID, c.bad}, "reviewer", "x")
			refused(t, err, c.code)
			equal(t, "last event", y.lastEvent(), last)
			equal(t, "owner", y.task(a.ID).Owner, "coder")
			equal(t, "work status", y.task(a.ID).WorkStatus, task.Working)
		}
	})
	t.Run("needs tasks and a comment", func(t *testing.T) {
		_, err := y.s.Reassign(y.ctx(), coder, "coder", nil, "pull", " ")
		refused(t, err, task.CodeInvalidField, "taskIds", "comment")
	})
}
