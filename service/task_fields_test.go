package service

import (
	"testing"

	"taskyard/task"
)

func TestANewTaskNamesAnUnknownOwnerBesideOtherWrongFields(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	_, err := y.s.CreateTask(y.ctx(), maya, task.New{Title: " ", Owner: "nobody", Priority: task.MaxPriority + 1})
	refused(t, err, task.CodeInvalidField, "title: ", "priority: ", "owner: unknown agent: nobody")
	_, err = y.s.CreateTask(y.ctx(), maya, task.New{Title: "x", Owner: "nobody"})
	refused(t, err, task.CodeUnknownAgent)
}
