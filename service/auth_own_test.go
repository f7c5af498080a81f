package service

import (
	"testing"

	"taskyard/task"
)

var ownOnly = definition("tools: read, task", "runner: script", "capabilities: [tasks:own]")

// TestUseCasesAreClosedToAgentsRestrictedToTheirOwnTasks calls the use cases for another
// agent's task. A new use case must be refused until it checks the family.
func TestUseCasesAreClosedToAgentsRestrictedToTheirOwnTasks(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.define("own", ownOnly)
	own := agentActor("own")
	tk := inst.create(maya, "coder", noStart)
	run := must(inst.s.RunNow(inst.ctx(), maya, inst.create(maya, "coder", noStart).ID)).ID
	open := map[string]bool{
		"list": true, "history": true, "queue": true, "runs": true,
		"agents": true, "create": true,
	} // what they show has its own tests
	for name, c := range inst.calls(tk, run) {
		if !own.May(c.perm) {
			continue
		}
		err := c.call(own)
		switch {
		case open[name]:
			ok(t, err)
		case name == "signup":
			refused(t, err, task.CodeNotYourName)
		case task.IsCode(err, task.CodeTaskNotFound), task.IsCode(err, task.CodeRunNotFound):
		default:
			refused(t, err, task.CodeForbidden, "agent own can see only its own tasks (capabilities: tasks:own)")
		}
	}
	for name, call := range inst.agentChanges(own, tk) {
		t.Run(name+" of another agent's task", func(t *testing.T) { refused(t, call(), task.CodeTaskNotFound) })
	}
	_, err := inst.s.CreateSubtask(inst.ctx(), own, tk.ID, 0, task.New{Title: "x"})
	refused(t, err, task.CodeTaskNotFound)
	_, err = inst.s.RunNow(inst.ctx(), own, tk.ID)
	refused(t, err, task.CodeTaskNotFound)
	_, err = inst.s.CancelRun(inst.ctx(), own, run, "")
	refused(t, err, task.CodeRunNotFound)
	_, err = inst.s.RetryRun(inst.ctx(), own, run)
	refused(t, err, task.CodeRunNotFound)
}

func TestARunTokenIsRestrictedToItsAgentsFamilies(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, noApprove)
	inst.define("own", ownOnly)
	stranger := inst.create(maya, "coder", noStart)
	top := inst.create(maya, "coder", noStart, steps("a"))
	mine := inst.subtask(maya, top.ID, 0, "own", noStart)
	st := inst.runTask(mine.ID)
	token := task.Actor{Name: "own", Role: task.RoleAgent, RunID: st.Run.ID}
	sees := func(id task.ID) error { _, err := inst.s.Task(inst.ctx(), token, id); return err }
	ok(t, sees(mine.ID))
	ok(t, sees(top.ID))
	refused(t, sees(stranger.ID), task.CodeTaskNotFound)
	t.Run("a run sees its task after a hand-over, until the run ends", func(t *testing.T) {
		must(inst.s.MoveTask(inst.ctx(), token, Move{TaskID: mine.ID, CurrentAgent: "own", NewAgent: "coder", Comment: "yours"}))
		ok(t, sees(mine.ID))
		ok(t, sees(top.ID))
		_, err := inst.s.Task(inst.ctx(), agentActor("own"), mine.ID)
		refused(t, err, task.CodeTaskNotFound)
		equal(t, "runs", len(must(inst.s.Runs(inst.ctx(), agentActor("own"), task.RunFilter{Limit: 10}))), 0)
	})
}
