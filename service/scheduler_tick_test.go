package service

import (
	"slices"
	"testing"

	"taskyard/task"
)

func TestATickLeavesAReceiptForSkippedTasks(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	want := map[task.ID]string{}
	free := inst.create(maya, "reviewer", noStart)
	inst.create(maya, "coder", draft)
	inst.taskWithStatus(task.Done)

	tk := inst.create(maya, "planner", noStart)
	must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
	want[tk.ID] = "run open"
	tk, _ = inst.waitingTask()
	want[tk.ID] = "approval"
	want[inst.claimedTask(coder).ID] = "claimed"
	tk = inst.create(maya, "coder", noStart)
	must(inst.s.Ask(inst.ctx(), coder, tk.ID, "?", false))
	want[tk.ID] = "question open"
	want[inst.create(maya, "pull", noStart).ID] = "pull-only"

	tk = inst.create(maya, "coder", noStart, priority(9))
	must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
	st := inst.start() // the run of planner is older
	for st.Run.TaskID != tk.ID {
		st = inst.start()
	}
	f := failure(task.PhaseError)
	f.Permanent = true
	inst.finish(st, f)
	want[tk.ID] = "stuck"

	inst.write("gone", definition("tools: read"))
	inst.write("broken", definition("tools: read"))
	inst.s.agents.Reload()
	want[inst.create(maya, "gone", noStart).ID] = "owner missing"
	want[inst.create(maya, "broken", noStart).ID] = "owner invalid"
	ok(t, inst.s.agents.Delete("gone"))
	inst.write("broken", "---\nname: x\n---\n")
	inst.s = inst.service() // a new process knows no earlier valid version

	res := must(inst.s.Tick(inst.ctx(), "cron"))
	equal(t, "queued", res.Queued, 1)
	equal(t, "skipped", res.Skipped, len(want))
	equal(t, "run of the free task", inst.openRun(free.ID).Cause, task.CauseTick)
	got := inst.skips()
	for id, reason := range want {
		equal(t, "reason for task "+id.String(), got[id], reason)
	}
	equal(t, "receipts", len(got), len(want))

	t.Run("a second tick creates no second run", func(t *testing.T) {
		equal(t, "queued", must(inst.s.Tick(inst.ctx(), "cron")).Queued, 0)
		equal(t, "runs", len(inst.runs(free.ID)), 1)
		equal(t, "reason", inst.skips()[free.ID], "run open")
	})
}

func TestATickTakesTheQueueInOrder(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, func(c *Config) { c.TickConcurrency = 10 })
	inst.define("coder", definition("tools: read", "max_parallel: 4"))
	var ids []task.ID
	for _, p := range []int{0, 10, 5, 10} {
		ids = append(ids, inst.create(maya, "coder", noStart, priority(p)).ID)
	}
	must(inst.s.Tick(inst.ctx(), "cron"))
	var got []task.ID
	for range ids {
		got = append(got, inst.start().Run.TaskID)
	}
	if want := []task.ID{ids[1], ids[3], ids[2], ids[0]}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestATickWalksMoreThanOneChunk(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for i := range tickChunk + 20 {
		inst.create(maya, "coder", noStart, priority(i%7))
	}
	equal(t, "queued", must(inst.s.Tick(inst.ctx(), "cron")).Queued, tickChunk+20)
}

func TestTicksOfTwoServicesCreateOneRunPerTask(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart)
	other := inst.service()
	done := make(chan error, 2)
	for _, s := range []*Service{inst.s, other} {
		go func() { _, err := s.Tick(inst.ctx(), "cron"); done <- err }()
	}
	ok(t, <-done)
	ok(t, <-done)
	equal(t, "runs", len(inst.runs(tk.ID)), 1)
}

func TestATickQueuesAgentTasksInOrderWithOthers(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.define("coder", definition("tools: read", "approval: delegated", "model: small", "timeout: 7m"))
	inst.define("planner", definition("tools: read", "approval: delegated"))
	var ids []task.ID
	for i := range 9 {
		switch {
		case i%3 == 1:
			ids = append(ids, inst.create(planner, "coder", noStart).ID) // waits for approval of an agent's task
		case i%3 == 2:
			ids = append(ids, inst.create(maya, "planner", noStart).ID)
		default:
			ids = append(ids, inst.create(maya, "coder", noStart).ID)
		}
	}
	must(inst.s.Tick(inst.ctx(), "cron"))
	before := task.ID(0)
	for i, id := range ids {
		r := inst.openRun(id)
		if r.ID <= before {
			t.Errorf("run %d of task %d was created before that of the previous task", r.ID, id)
		}
		before = r.ID
		phase, model := task.PhaseQueued, "small"
		if i%3 == 1 {
			phase = task.PhaseApproval
		}
		if i%3 == 2 {
			model = ""
		}
		equal(t, "phase", r.Phase, phase)
		equal(t, "model", r.Model, model)
		equal(t, "agent", r.Agent, must(inst.s.Task(inst.ctx(), maya, id)).Owner)
		if i%3 == 0 {
			equal(t, "limit", r.Limits.TimeoutSeconds, 420)
			equal(t, "attempt", r.Attempt, 1)
			equal(t, "asked by", r.AskedBy, task.System)
			equal(t, "open run of the task", must(inst.s.Task(inst.ctx(), maya, id)).OpenRunID, r.ID)
		}
	}
}
