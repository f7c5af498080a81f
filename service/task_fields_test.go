package service

import (
	"testing"

	"taskyard/task"
)

func TestANewTaskNamesAnUnknownOwnerBesideOtherWrongFields(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	_, err := inst.s.CreateTask(inst.ctx(), maya, task.New{Title: " ", Owner: "nobody", Priority: task.MaxPriority + 1})
	refused(t, err, task.CodeInvalidField, "title: ", "priority: ", "owner: unknown agent: nobody")
	_, err = inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: "nobody"})
	refused(t, err, task.CodeUnknownAgent)
}
