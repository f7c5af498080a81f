package service

import (
	"testing"

	"taskyard/task"
)

func TestANewTaskNamesWhatIsUnknownBesideOtherWrongFields(t *testing.T) {
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
