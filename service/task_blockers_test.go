package service

import (
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/task"
)

func blockedBy(ids ...task.ID) func(*task.New) {
	return func(in *task.New) { in.BlockedBy = append(in.BlockedBy, ids...) }
}

func labels(l ...string) func(*task.New) { return func(in *task.New) { in.Labels = l } }

func (inst *instance) block(id task.ID, by ...task.ID) *task.Task {
	inst.t.Helper()
	return must(inst.s.SetBlockedBy(inst.ctx(), maya, id, by))
}

func (inst *instance) complete(id task.ID) {
	inst.t.Helper()
	must(inst.s.CompleteTask(inst.ctx(), maya, id, "", 0))
}

func (inst *instance) cancel(id task.ID) {
	inst.t.Helper()
	must(inst.s.CancelTask(inst.ctx(), maya, id, ""))
}

// checkInvariants checks the invariants of the database.
func (inst *instance) checkInvariants() {
	inst.t.Helper()
	ok(inst.t, inst.db.Read(inst.ctx(), func(rx *db.Rx) error { return rx.CheckInvariants() }))
}

// blockedPair creates a task and one that is blocked by it.
func (inst *instance) blockedPair(with ...func(*task.New)) (first, second task.ID) {
	inst.t.Helper()
	first = inst.create(maya, "coder", noStart).ID
	return first, inst.create(maya, "planner", append(with, blockedBy(first))...).ID
}

func TestSetBlockedByReplacesTheSet(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	a, b, c := inst.create(maya, "coder").ID, inst.create(maya, "coder").ID, inst.create(maya, "pull")
	t.Run("it is sorted without duplicates, and increases the version", func(t *testing.T) {
		got := inst.block(c.ID, b, a, b)
		if !slices.Equal(got.BlockedBy, []task.ID{a, b}) || got.Version <= c.Version || got.WaitingFor != task.WaitsTasks {
			t.Fatalf("got %+v", got)
		}
		equal(t, "event", last(inst.kinds(c.ID)), task.EvBlockersSet)
	})
	t.Run("the same set again writes nothing", func(t *testing.T) {
		before := inst.lastEvent()
		inst.block(c.ID, a, b)
		equal(t, "last event", inst.lastEvent(), before)
	})
	t.Run("another set replaces the first", func(t *testing.T) {
		if got := inst.block(c.ID, b); !slices.Equal(got.BlockedBy, []task.ID{b}) {
			t.Fatalf("got %v", got.BlockedBy)
		}
		if got := inst.block(c.ID); len(got.BlockedBy) > 0 || got.WaitingFor != "" {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("it can be set at creation, in one change", func(t *testing.T) {
		tk := inst.create(maya, "coder", blockedBy(b, a))
		equal(t, "version", tk.Version, 1)
		equal(t, "waiting for", tk.WaitingFor, task.WaitsTasks)
	})
	t.Run("drafts may be blocked, but wait for nothing yet", func(t *testing.T) {
		tk := inst.create(maya, "coder", draft, blockedBy(a))
		equal(t, "waiting for", tk.WaitingFor, task.WaitingFor(""))
		tk = must(inst.patchStatus(tk.ID, "active"))
		equal(t, "waiting for", tk.WaitingFor, task.WaitsTasks)
	})
	t.Run("every list shows it", func(t *testing.T) {
		inst.block(c.ID, a)
		p := must(inst.s.Queue(inst.ctx(), maya, "pull", false, 10, ""))
		if got := p.Tasks[0]; !slices.Equal(got.BlockedBy, []task.ID{a}) || got.WaitingFor != task.WaitsTasks {
			t.Fatalf("got %+v", got)
		}
	})
	inst.checkInvariants()
}

func TestRefusedBlockers(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk, b := inst.create(maya, "coder"), inst.create(maya, "planner")
	gone := inst.taskWithStatus(task.Done)
	many := make([]task.ID, task.MaxBlockers+1)
	for i := range many {
		many[i] = task.ID(i + 1)
	}
	set := func(a task.Actor, id task.ID, by ...task.ID) func(*testing.T) error {
		return func(*testing.T) error { _, err := inst.s.SetBlockedBy(inst.ctx(), a, id, by); return err }
	}
	for name, c := range map[string]struct {
		call  func(*testing.T) error
		code  task.Code
		words string
	}{
		"an unknown blocker is named by its index": {set(maya, tk.ID, b.ID, 99), task.CodeInvalidField, "taskIds[1]: no task has the id 99"},
		"more than 100 are too many":               {set(maya, tk.ID, many...), task.CodeInvalidField, "must be at most 100 tasks, not 101"},
		"itself is a cycle":                        {set(maya, tk.ID, b.ID, tk.ID), task.CodeDependencyCycle, "1 → 1"},
		"an archived task cannot be blocked":       {set(maya, gone.ID, tk.ID), task.CodeArchived, ""},
		"an unknown task is not found":             {set(maya, 99, tk.ID), task.CodeTaskNotFound, ""},
		"an unrelated agent may not":               {set(reviewer, tk.ID, b.ID), task.CodeForbidden, ""},
		"an unknown blocker of a new task is refused": {func(*testing.T) error {
			_, err := inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: "coder", BlockedBy: []task.ID{99}})
			return err
		}, task.CodeInvalidField, "blockedBy[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			before := inst.lastEvent()
			refused(t, c.call(t), c.code, c.words)
			equal(t, "last event", inst.lastEvent(), before)
		})
	}
	t.Run("the owner may use any task that it can read", func(t *testing.T) {
		must(inst.s.SetBlockedBy(inst.ctx(), coder, tk.ID, []task.ID{b.ID}))
	})
	t.Run("one task blocks at most 500 open ones", func(t *testing.T) {
		hub := inst.create(maya, "coder").ID
		for range task.MaxBlocks {
			inst.create(maya, "pull", blockedBy(hub))
		}
		_, err := inst.s.SetBlockedBy(inst.ctx(), maya, tk.ID, []task.ID{b.ID, hub})
		refused(t, err, task.CodeInvalidField, "taskIds[1]", "500")
	})
}

func TestACycleIsRefusedWithItsPath(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	var ids []task.ID
	for range 4 {
		ids = append(ids, inst.create(maya, "coder").ID)
	}
	inst.block(ids[1], ids[0])
	inst.block(ids[2], ids[1])
	t.Run("directly", func(t *testing.T) {
		_, err := inst.s.SetBlockedBy(inst.ctx(), maya, ids[0], []task.ID{ids[1]})
		refused(t, err, task.CodeDependencyCycle, "1 → 2 → 1")
	})
	t.Run("indirectly", func(t *testing.T) {
		_, err := inst.s.SetBlockedBy(inst.ctx(), maya, ids[0], []task.ID{ids[3], ids[2]})
		refused(t, err, task.CodeDependencyCycle, "1 → 3 → 2 → 1")
		if got := inst.task(ids[0]); len(got.BlockedBy) > 0 {
			t.Fatalf("got %v, want no blockers", got.BlockedBy)
		}
	})
	t.Run("an archived task does not close a cycle", func(t *testing.T) {
		inst.complete(ids[1])
		equal(t, "waiting for", inst.block(ids[0], ids[2]).WaitingFor, task.WaitsTasks)
	})
	t.Run("a task may wait for its subtask, and a subtask for its parent", func(t *testing.T) {
		p := inst.create(maya, "planner", steps("a", "b"))
		one, two := inst.subtask(maya, p.ID, 0, "coder"), inst.subtask(maya, p.ID, 1, "coder")
		inst.block(p.ID, one.ID)
		inst.block(two.ID, p.ID)
		_, err := inst.s.SetBlockedBy(inst.ctx(), maya, one.ID, []task.ID{two.ID})
		refused(t, err, task.CodeDependencyCycle)
	})
	inst.checkInvariants()
}

func TestABlockedTaskDoesNotRun(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes, noApprove)
	first, second := inst.blockedPair()
	gated := "blocked by #" + first.String()
	t.Run("no wake at its creation, nor by a comment or a move", func(t *testing.T) {
		inst.wantNoRun(t, second)
		must(inst.s.Comment(inst.ctx(), oleg, second, "news"))
		to := "coder"
		must(inst.s.UpdateTask(inst.ctx(), maya, second, task.Patch{Owner: &to}))
		inst.wantNoRun(t, second)
		to = "planner"
		must(inst.s.UpdateTask(inst.ctx(), maya, second, task.Patch{Owner: &to}))
	})
	t.Run("no signup", func(t *testing.T) {
		if tk := inst.signup(planner); tk != nil {
			t.Fatalf("got task %d", tk.ID)
		}
	})
	t.Run("no tick, with a receipt that names the blocker", func(t *testing.T) {
		must(inst.s.Tick(inst.ctx(), "cron"))
		inst.wantNoRun(t, second)
		st := must(inst.s.Scheduler(inst.ctx(), maya))
		for _, s := range st.Skips {
			if s.TaskID == second {
				equal(t, "reason", s.Reason, "blocked")
				equal(t, "detail", s.Detail, gated)
				return
			}
		}
		t.Fatal("there is no receipt")
	})
	t.Run("no manual run", func(t *testing.T) {
		_, err := inst.s.RunNow(inst.ctx(), maya, second)
		refused(t, err, task.CodeTaskGated, gated)
	})
	t.Run("no claim by status", func(t *testing.T) {
		_, err := inst.patchStatus(second, "working")
		refused(t, err, task.CodeTaskGated, gated)
	})
	t.Run("a run that is queued already ends instead of starting", func(t *testing.T) {
		tk := inst.create(maya, "reviewer")
		r := inst.openRun(tk.ID)
		inst.block(tk.ID, first)
		st, _, err := inst.s.NextRun(inst.ctx(), map[task.ID]bool{first: true})
		ok(t, err)
		if st != nil {
			t.Fatalf("got run %d, want none", st.Run.ID)
		}
		r = inst.run(r.ID)
		equal(t, "state", r.State(), task.State{Status: task.RunCanceled, Phase: task.PhaseTaskClosed})
		equal(t, "reason", r.Reason, "the task is "+gated)
	})
	t.Run("current work continues, and a failed run is not retried", func(t *testing.T) {
		tk := inst.create(maya, "reviewer")
		st := inst.start()
		for st.Run.TaskID != tk.ID {
			st = inst.start()
		}
		must(inst.s.SetBlockedBy(inst.ctx(), inst.actor(st), tk.ID, []task.ID{first}))
		must(inst.s.Comment(inst.ctx(), oleg, tk.ID, "news"))
		equal(t, "state", inst.run(st.Run.ID).Status, task.RunRunning)
		inst.finish(st, failure(task.PhaseError))
		inst.wantNoRun(t, tk.ID)
	})
	inst.checkInvariants()
}

func TestTheLastBlockerWakesTheOwner(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes, noApprove)
	t.Run("when it is done", func(t *testing.T) {
		a, b := inst.create(maya, "coder", noStart).ID, inst.create(maya, "coder", noStart).ID
		tk := inst.create(maya, "planner", blockedBy(a, b))
		inst.complete(a)
		inst.wantNoRun(t, tk.ID)
		now := inst.task(tk.ID)
		equal(t, "waiting for", now.WaitingFor, task.WaitsTasks)
		if now.Version <= tk.Version {
			t.Fatal("the version did not change")
		}
		inst.complete(b)
		equal(t, "waiting for", inst.task(tk.ID).WaitingFor, task.WaitingFor(""))
		equal(t, "event before the run", inst.kinds(tk.ID)[len(inst.kinds(tk.ID))-2], task.EvBlockerDone)
		inst.wantWoken(t, tk.ID, "planner")
	})
	t.Run("when it is removed from the set", func(t *testing.T) {
		_, k := inst.blockedPair()
		inst.block(k)
		inst.wantWoken(t, k, "planner")
	})
	t.Run("but not the owner of a draft", func(t *testing.T) {
		a, k := inst.blockedPair(draft)
		inst.complete(a)
		inst.wantNoRun(t, k)
	})
	t.Run("a task that is already done does not block", func(t *testing.T) {
		done := blockedBy(inst.taskWithStatus(task.Done).ID)
		inst.wantWoken(t, inst.create(maya, "planner", done).ID, "planner")
		tk := inst.create(maya, "pull", done)
		equal(t, "claimable", inst.signup(pull).ID, tk.ID)
	})
	t.Run("a set with open blockers does not wake the owner", func(t *testing.T) {
		a, k := inst.blockedPair()
		inst.block(k, a, inst.create(maya, "coder", noStart).ID)
		inst.wantNoRun(t, k)
	})
	t.Run("a subtask that blocks its parent wakes the owner once", func(t *testing.T) {
		p := inst.create(maya, "planner", noStart, steps("a"))
		sub := inst.subtask(maya, p.ID, 0, "coder", noStart)
		inst.block(p.ID, sub.ID)
		inst.complete(sub.ID)
		equal(t, "runs", len(inst.runs(p.ID)), 1)
		inst.wantWoken(t, p.ID, "planner")
	})
	inst.checkInvariants()
}

func TestACanceledBlockerWaitsForAPerson(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes, noApprove)
	inbox := func() int { return must(inst.s.Inbox(inst.ctx(), maya)).Totals.BlockerCanceled }
	a, k := inst.blockedPair()
	inst.cancel(a)
	t.Run("the task stays blocked and appears in the inbox", func(t *testing.T) {
		equal(t, "waiting for", inst.task(k).WaitingFor, task.WaitsTasks)
		equal(t, "event", last(inst.kinds(k)), task.EvBlockerLost)
		equal(t, "in the inbox", inbox(), 1)
		inst.wantNoRun(t, k)
		_, err := inst.s.RunNow(inst.ctx(), maya, k)
		refused(t, err, task.CodeTaskGated, "canceled: a person decides")
	})
	t.Run("an agent may not remove it", func(t *testing.T) {
		e := refused(t, onlyErr(inst.s.SetBlockedBy(inst.ctx(), planner, k, nil)), task.CodeForbidden, "a person decides")
		if !strings.Contains(e.Message, "notify") {
			t.Fatalf("there is no fix in %q", e.Message)
		}
	})
	t.Run("but an agent may add to the set", func(t *testing.T) {
		b := inst.create(maya, "coder", noStart).ID
		must(inst.s.SetBlockedBy(inst.ctx(), planner, k, []task.ID{a, b}))
		must(inst.s.SetBlockedBy(inst.ctx(), planner, k, []task.ID{a}))
	})
	t.Run("a person may remove it, which wakes the owner", func(t *testing.T) {
		inst.block(k)
		equal(t, "in the inbox", inbox(), 0)
		inst.wantWoken(t, k, "planner")
	})
	t.Run("one that was canceled before counts as canceled", func(t *testing.T) {
		d := inst.create(maya, "planner", blockedBy(a))
		equal(t, "in the inbox", inbox(), 1)
		inst.wantNoRun(t, d.ID)
		inst.cancel(d.ID)
		equal(t, "in the inbox after it is archived", inbox(), 0)
	})
	t.Run("tasks canceled together do not appear in the inbox", func(t *testing.T) {
		p := inst.create(maya, "planner", noStart, steps("a", "b"))
		one, two := inst.subtask(maya, p.ID, 0, "coder", noStart), inst.subtask(maya, p.ID, 1, "coder", noStart)
		outside := inst.create(maya, "coder", noStart, blockedBy(one.ID))
		inst.block(two.ID, one.ID)
		inst.block(p.ID, two.ID)
		inst.cancel(p.ID)
		for _, id := range []task.ID{p.ID, two.ID} {
			equal(t, "last event", last(inst.kinds(id)), task.EvTaskCanceled)
		}
		equal(t, "last event outside", last(inst.kinds(outside.ID)), task.EvBlockerLost)
		equal(t, "in the inbox", inbox(), 1)
	})
	inst.checkInvariants()
}

func TestPagesOfBlockersAreNotified(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	a, b := inst.create(maya, "coder").ID, inst.create(maya, "coder").ID
	sub := inst.s.Hub().Subscribe("task:" + a.String())
	defer sub.Close()
	inst.block(b, a)
	equal(t, "topics", len(sub.Drain()), 1)
	inst.block(b)
	equal(t, "topics", len(sub.Drain()), 1)
}

func TestLabels(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", labels("ui", "api", "ui"))
	if !slices.Equal(tk.Labels, []string{"api", "ui"}) {
		t.Fatalf("got %v", tk.Labels)
	}
	set := func(l ...string) (*task.Task, error) {
		return inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Labels: &l})
	}
	t.Run("a patch replaces them, and the event has both versions", func(t *testing.T) {
		got := must(set("z", "a-1"))
		if !slices.Equal(got.Labels, []string{"a-1", "z"}) || got.Version != tk.Version+1 {
			t.Fatalf("got %+v", got)
		}
		list := must(inst.s.Events(inst.ctx(), maya, task.EventFilter{TaskID: tk.ID, Limit: 10}))
		equal(t, "changes", string(list[len(list)-1].Changes), `{"labels":[["api","ui"],["a-1","z"]]}`)
	})
	t.Run("the same again in another order writes nothing", func(t *testing.T) {
		before := inst.lastEvent()
		must(set("z", "a-1", "a-1"))
		equal(t, "last event", inst.lastEvent(), before)
	})
	t.Run("an empty list removes all", func(t *testing.T) {
		if got := must(set()); len(got.Labels) > 0 {
			t.Fatalf("got %v", got.Labels)
		}
	})
	t.Run("20 is the maximum", func(t *testing.T) {
		var many []string
		for i := range 21 {
			many = append(many, "l"+task.ID(i).String())
		}
		refused(t, onlyErr(set(many...)), task.CodeInvalidField, "labels: must be at most 20")
		must(set(many[1:]...))
	})
	for _, bad := range []string{"", "A", "a b", "é", "a_b", strings.Repeat("a", 33)} {
		t.Run("refused: "+bad, func(t *testing.T) {
			refused(t, onlyErr(set("ok", bad)), task.CodeInvalidField, "labels[1]")
			refused(t, onlyErr(inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: "coder", Labels: []string{bad}})),
				task.CodeInvalidField, "labels[0]")
		})
	}
	t.Run("lists are filtered by whole labels", func(t *testing.T) {
		one := inst.create(maya, "pull", labels("api", "db")).ID
		two := inst.create(maya, "pull", labels("api-v2")).ID
		for label, want := range map[string][]task.ID{"api": {one}, "db": {one}, "api-v2": {two}, "ap": {}, "nothing": {}} {
			p := must(inst.s.OpenTasks(inst.ctx(), maya, task.TaskFilter{Label: label, Owner: "pull", Limit: 10}))
			ids := []task.ID{}
			for _, tk := range p.Tasks {
				ids = append(ids, tk.ID)
			}
			if !slices.Equal(ids, want) {
				t.Errorf("%s: got %v, want %v", label, ids, want)
			}
		}
		refused(t, onlyErr(inst.s.OpenTasks(inst.ctx(), maya, task.TaskFilter{Label: "a b", Limit: 1})), task.CodeInvalidField, "label")
	})
}

func TestABlockedDelegatedTaskIsNotCompleted(t *testing.T) {
	t.Parallel()
	inst := delegating(t, wakes)
	first := inst.create(maya, "pull").ID
	_, _, own := inst.inRun("boss")
	d := inst.delegate(own, task.Delegation{})
	st := inst.start()
	equal(t, "run", st.Run.ID, d.RunID)
	must(inst.s.SetBlockedBy(inst.ctx(), inst.actor(st), d.TaskID, []task.ID{first}))
	inst.finish(st, completed("I need #1 first"))
	equal(t, "status", inst.task(d.TaskID).Status, task.Active)
	equal(t, "answer", inst.delegated(own, d.RunID).Phase, task.PhaseHandedOn)
	inst.complete(first)
	if inst.openRun(d.TaskID) == nil {
		t.Fatal("the last blocker caused no run")
	}
}

func TestAnUnblockedTaskGoesToAWaitingSignup(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, inst *instance) {
		first := inst.create(maya, "coder").ID
		done, dropped := inst.create(maya, "pull", blockedBy(first)).ID, inst.create(maya, "pull", blockedBy(first)).ID
		one := inst.waitFor(t, inst.ctx(), pull, 50*time.Second)
		inst.block(dropped)
		one.wantTask(dropped)
		two := inst.waitFor(t, inst.ctx(), pull, 50*time.Second)
		inst.complete(first)
		two.wantTask(done)
	})
}
