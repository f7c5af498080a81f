package service

import (
	"testing"

	"taskyard/task"
)

func TestCreatingATaskReportsAllInvalidFields(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	_, err := inst.s.CreateTask(inst.ctx(), maya, task.New{Title: " ", Owner: "nobody", Priority: task.MaxPriority + 1})
	refused(t, err, task.CodeInvalidField, "title: ", "priority: ", "owner: unknown agent: nobody")
	_, err = inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: "nobody"})
	refused(t, err, task.CodeUnknownAgent)
	_, err = inst.s.CreateTask(inst.ctx(), maya, task.New{Title: " ", Owner: "nobody", Project: "none", BlockedBy: []task.ID{70, 71}})
	refused(t, err, task.CodeInvalidField, "title: ", "owner: ", "project: there is no project none", "blockedBy[0]: ", "blockedBy[1]: ")
	_, err = inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: "coder", Project: "none", BlockedBy: []task.ID{70}})
	refused(t, err, task.CodeInvalidField, "project: ", "blockedBy[0]: ")
	_, err = inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: "coder", Project: "none"})
	refused(t, err, task.CodeProjectNotFound)
}

func TestUpdatingATaskReportsAllInvalidFields(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", draft)
	change := func(p task.Patch) error { return onlyErr(inst.s.UpdateTask(inst.ctx(), maya, tk.ID, p)) }
	refused(t, change(task.Patch{Title: ptr(" "), Owner: ptr("nobody"), Project: ptr("none")}), task.CodeInvalidField,
		"title: ", "owner: unknown agent: nobody", "project: there is no project none")
	refused(t, change(task.Patch{Owner: ptr("nobody"), Project: ptr("none")}), task.CodeInvalidField, "owner: ", "project: ")
	refused(t, change(task.Patch{Owner: ptr("nobody")}), task.CodeUnknownAgent)
	refused(t, change(task.Patch{Project: ptr("none")}), task.CodeProjectNotFound)
	_, err := inst.s.Reassign(inst.ctx(), maya, "coder", []task.ID{tk.ID}, "nobody", " ")
	refused(t, err, task.CodeInvalidField, "comment: ", "newAgent: unknown agent: nobody")
	_, err = inst.s.HandOver(inst.ctx(), maya, HandOver{TaskID: tk.ID, From: "coder", To: "nobody", Comment: " "})
	refused(t, err, task.CodeInvalidField, "comment: ", "newAgent: unknown agent: nobody")
	_, err = inst.s.MoveTask(inst.ctx(), maya, Move{TaskID: tk.ID, CurrentAgent: "coder", NewAgent: "nobody", Comment: " "})
	refused(t, err, task.CodeInvalidField, "comment: ", "newAgent: unknown agent: nobody")
}
