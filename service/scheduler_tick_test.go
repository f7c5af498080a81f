package service

import (
	"slices"
	"testing"

	"taskyard/task"
)

func TestATickLeavesAReceiptForWhatItSkips(t *testing.T) {
	y := newInstance(t)
	want := map[task.ID]string{}
	free := y.create(maya, "reviewer", noStart)
	y.create(maya, "coder", draft)
	y.in(task.Done)

	tk := y.create(maya, "planner", noStart)
	must(y.s.RunNow(y.ctx(), maya, tk.ID))
	want[tk.ID] = "run open"
	tk, _ = y.waits()
	want[tk.ID] = "approval"
	want[y.working(coder).ID] = "claimed"
	tk = y.create(maya, "coder", noStart)
	must(y.s.Ask(y.ctx(), coder, tk.ID, "?", false))
	want[tk.ID] = "question open"
	want[y.create(maya, "pull", noStart).ID] = "pull-only"

	tk = y.create(maya, "coder", noStart, priority(9))
	must(y.s.RunNow(y.ctx(), maya, tk.ID))
	st := y.start() // that of planner is older
	for st.Run.TaskID != tk.ID {
		st = y.start()
	}
	f := failure(task.PhaseError)
	f.Permanent = true
	y.finish(st, f)
	want[tk.ID] = "stuck"

	y.write("gone", definition("tools: read"))
	y.write("broken", definition("tools: read"))
	y.s.agents.Reload()
	want[y.create(maya, "gone", noStart).ID] = "owner missing"
	want[y.create(maya, "broken", noStart).ID] = "owner invalid"
	ok(t, y.s.agents.Delete("gone"))
	y.write("broken", "---\nname: x\n---\n")
	y.s = y.service() // a fresh start knows no former good version

	res := must(y.s.Tick(y.ctx(), "cron"))
	equal(t, "queued", res.Queued, 1)
	equal(t, "skipped", res.Skipped, len(want))
	equal(t, "run of the free task", y.openRun(free.ID).Cause, task.CauseTick)
	got := y.skips()
	for id, reason := range want {
		equal(t, "reason for task "+id.String(), got[id], reason)
	}
	equal(t, "receipts", len(got), len(want))

	t.Run("twice in a row makes no second run", func(t *testing.T) {
		equal(t, "queued", must(y.s.Tick(y.ctx(), "cron")).Queued, 0)
		equal(t, "runs", len(y.runs(free.ID)), 1)
		equal(t, "reason", y.skips()[free.ID], "run open")
	})
}

func TestATickTakesTheQueueInOrder(t *testing.T) {
	y := newInstance(t, func(c *Config) { c.TickConcurrency = 10 })
	y.define("coder", definition("tools: read", "max_parallel: 4"))
	var ids []task.ID
	for _, p := range []int{0, 10, 5, 10} {
		ids = append(ids, y.create(maya, "coder", noStart, priority(p)).ID)
	}
	must(y.s.Tick(y.ctx(), "cron"))
	var got []task.ID
	for range ids {
		got = append(got, y.start().Run.TaskID)
	}
	if want := []task.ID{ids[1], ids[3], ids[2], ids[0]}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestATickWalksMoreThanOneChunk(t *testing.T) {
	y := newInstance(t)
	for i := range tickChunk + 20 {
		y.create(maya, "coder", noStart, priority(i%7))
	}
	equal(t, "queued", must(y.s.Tick(y.ctx(), "cron")).Queued, tickChunk+20)
}

func TestTheTickOfTwoServicesMakesOneRunATask(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder", noStart)
	other := y.service()
	done := make(chan error, 2)
	for _, s := range []*Service{y.s, other} {
		go func() { _, err := s.Tick(y.ctx(), "cron"); done <- err }()
	}
	ok(t, <-done)
	ok(t, <-done)
	equal(t, "runs", len(y.runs(tk.ID)), 1)
}

func TestATickJudgesWhatAgentsBroughtAboutBesideTheRest(t *testing.T) {
	y := newInstance(t)
	y.define("coder", definition("tools: read", "approval: delegated", "model: small", "timeout: 7m"))
	y.define("planner", definition("tools: read", "approval: delegated"))
	var ids []task.ID
	for i := range 9 {
		switch {
		case i%3 == 1:
			ids = append(ids, y.create(planner, "coder", noStart).ID) // waits for consent to what an agent made
		case i%3 == 2:
			ids = append(ids, y.create(maya, "planner", noStart).ID)
		default:
			ids = append(ids, y.create(maya, "coder", noStart).ID)
		}
	}
	must(y.s.Tick(y.ctx(), "cron"))
	before := task.ID(0)
	for i, id := range ids {
		r := y.openRun(id)
		if r.ID <= before {
			t.Errorf("run %d of task %d comes before that of the task before it", r.ID, id)
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
		equal(t, "agent", r.Agent, must(y.s.Task(y.ctx(), maya, id)).Owner)
		if i%3 == 0 {
			equal(t, "limit", r.Limits.TimeoutSeconds, 420)
			equal(t, "attempt", r.Attempt, 1)
			equal(t, "asked by", r.AskedBy, task.System)
			equal(t, "the gate of the task", must(y.s.Task(y.ctx(), maya, id)).OpenRunID, r.ID)
		}
	}
}
