package service

import (
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/task"
)

func after(ids ...task.ID) func(*task.New) {
	return func(in *task.New) { in.BlockedBy = append(in.BlockedBy, ids...) }
}

func labels(l ...string) func(*task.New) { return func(in *task.New) { in.Labels = l } }

func (y *instance) block(id task.ID, by ...task.ID) *task.Task {
	y.t.Helper()
	return must(y.s.SetBlockedBy(y.ctx(), maya, id, by))
}

func (y *instance) complete(id task.ID) {
	y.t.Helper()
	must(y.s.CompleteTask(y.ctx(), maya, id, "", 0))
}

func (y *instance) cancel(id task.ID) {
	y.t.Helper()
	must(y.s.CancelTask(y.ctx(), maya, id, ""))
}

// sound checks the invariants of the whole database.
func (y *instance) sound() {
	y.t.Helper()
	ok(y.t, y.db.Read(y.ctx(), func(rx *db.Rx) error { return rx.CheckInvariants() }))
}

// pair makes a task and one that is blocked by it.
func (y *instance) pair(with ...func(*task.New)) (first, second task.ID) {
	y.t.Helper()
	first = y.create(maya, "coder", noStart).ID
	return first, y.create(maya, "planner", append(with, after(first))...).ID
}

func TestBlockedByIsAWholeSet(t *testing.T) {
	y := newInstance(t)
	a, b, c := y.create(maya, "coder").ID, y.create(maya, "coder").ID, y.create(maya, "pull")
	t.Run("it is sorted, each once, and moves the version", func(t *testing.T) {
		got := y.block(c.ID, b, a, b)
		if !slices.Equal(got.BlockedBy, []task.ID{a, b}) || got.Version <= c.Version || got.WaitingFor != task.WaitsTasks {
			t.Fatalf("%+v", got)
		}
		equal(t, "event", last(y.kinds(c.ID)), task.EvBlockersSet)
	})
	t.Run("the same set again writes nothing", func(t *testing.T) {
		before := y.lastEvent()
		y.block(c.ID, a, b)
		equal(t, "last event", y.lastEvent(), before)
	})
	t.Run("a further set takes the place of the first", func(t *testing.T) {
		if got := y.block(c.ID, b); !slices.Equal(got.BlockedBy, []task.ID{b}) {
			t.Fatalf("%v", got.BlockedBy)
		}
		if got := y.block(c.ID); len(got.BlockedBy) > 0 || got.WaitingFor != "" {
			t.Fatalf("%+v", got)
		}
	})
	t.Run("it may be given on create, which is one change", func(t *testing.T) {
		tk := y.create(maya, "coder", after(b, a))
		equal(t, "version", tk.Version, 1)
		equal(t, "waits for", tk.WaitingFor, task.WaitsTasks)
	})
	t.Run("drafts may be blocked, but wait for nothing yet", func(t *testing.T) {
		tk := y.create(maya, "coder", draft, after(a))
		equal(t, "waits for", tk.WaitingFor, task.WaitingFor(""))
		tk = must(y.patchStatus(tk.ID, "active"))
		equal(t, "waits for", tk.WaitingFor, task.WaitsTasks)
	})
	t.Run("every list tells it", func(t *testing.T) {
		y.block(c.ID, a)
		p := must(y.s.Queue(y.ctx(), maya, "pull", false, 10, ""))
		if got := p.Tasks[0]; !slices.Equal(got.BlockedBy, []task.ID{a}) || got.WaitingFor != task.WaitsTasks {
			t.Fatalf("%+v", got)
		}
	})
	y.sound()
}

func TestRefusedBlockers(t *testing.T) {
	y := newInstance(t)
	tk, b := y.create(maya, "coder"), y.create(maya, "planner")
	gone := y.in(task.Done)
	many := make([]task.ID, task.MaxBlockers+1)
	for i := range many {
		many[i] = task.ID(i + 1)
	}
	set := func(a task.Actor, id task.ID, by ...task.ID) func(*testing.T) error {
		return func(*testing.T) error { _, err := y.s.SetBlockedBy(y.ctx(), a, id, by); return err }
	}
	for name, c := range map[string]struct {
		call  func(*testing.T) error
		code  task.Code
		words string
	}{
		"an unknown blocker is named by its place": {set(maya, tk.ID, b.ID, 99), task.CodeInvalidField, "taskIds[1]: no task has the id 99"},
		"more than 100 are too many":               {set(maya, tk.ID, many...), task.CodeInvalidField, "must be at most 100 tasks, is 101"},
		"itself is a circle":                       {set(maya, tk.ID, b.ID, tk.ID), task.CodeDependencyCycle, "1 → 1"},
		"history never waits":                      {set(maya, gone.ID, tk.ID), task.CodeArchived, ""},
		"an unknown task is not found":             {set(maya, 99, tk.ID), task.CodeTaskNotFound, ""},
		"an agent that is not related may not":     {set(reviewer, tk.ID, b.ID), task.CodeForbidden, ""},
		"an unknown blocker of a new task is refused": {func(*testing.T) error {
			_, err := y.s.CreateTask(y.ctx(), maya, task.New{Title: "x", Owner: "coder", BlockedBy: []task.ID{99}})
			return err
		}, task.CodeInvalidField, "blockedBy[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			before := y.lastEvent()
			refused(t, c.call(t), c.code, c.words)
			equal(t, "last event", y.lastEvent(), before)
		})
	}
	t.Run("the owner may, on any task that it reads", func(t *testing.T) {
		must(y.s.SetBlockedBy(y.ctx(), coder, tk.ID, []task.ID{b.ID}))
	})
	t.Run("one task holds up at most 500 open ones", func(t *testing.T) {
		hub := y.create(maya, "coder").ID
		for range task.MaxBlocks {
			y.create(maya, "pull", after(hub))
		}
		_, err := y.s.SetBlockedBy(y.ctx(), maya, tk.ID, []task.ID{b.ID, hub})
		refused(t, err, task.CodeInvalidField, "taskIds[1]", "500")
	})
}

func TestACircleIsRefusedWithItsPath(t *testing.T) {
	y := newInstance(t)
	var ids []task.ID
	for range 4 {
		ids = append(ids, y.create(maya, "coder").ID)
	}
	y.block(ids[1], ids[0])
	y.block(ids[2], ids[1])
	t.Run("straight", func(t *testing.T) {
		_, err := y.s.SetBlockedBy(y.ctx(), maya, ids[0], []task.ID{ids[1]})
		refused(t, err, task.CodeDependencyCycle, "1 → 2 → 1")
	})
	t.Run("through others", func(t *testing.T) {
		_, err := y.s.SetBlockedBy(y.ctx(), maya, ids[0], []task.ID{ids[3], ids[2]})
		refused(t, err, task.CodeDependencyCycle, "1 → 3 → 2 → 1")
		if got := y.task(ids[0]); len(got.BlockedBy) > 0 {
			t.Fatalf("written: %v", got.BlockedBy)
		}
	})
	t.Run("what is archived closes none: it waits for nothing", func(t *testing.T) {
		y.complete(ids[1])
		equal(t, "waits for", y.block(ids[0], ids[2]).WaitingFor, task.WaitsTasks)
	})
	t.Run("a task may wait for its own subtask, and a subtask for the task above", func(t *testing.T) {
		p := y.create(maya, "planner", steps("a", "b"))
		one, two := y.subtask(maya, p.ID, 0, "coder"), y.subtask(maya, p.ID, 1, "coder")
		y.block(p.ID, one.ID)
		y.block(two.ID, p.ID)
		_, err := y.s.SetBlockedBy(y.ctx(), maya, one.ID, []task.ID{two.ID})
		refused(t, err, task.CodeDependencyCycle)
	})
	y.sound()
}

func TestABlockedTaskIsLeftAlone(t *testing.T) {
	y := newInstance(t, wakes, noApprove)
	first, second := y.pair()
	gated := "blocked by #" + first.String()
	t.Run("no wake at its creation, nor by a comment or a move", func(t *testing.T) {
		y.asleep(t, second)
		must(y.s.Comment(y.ctx(), oleg, second, "news"))
		to := "coder"
		must(y.s.UpdateTask(y.ctx(), maya, second, task.Patch{Owner: &to}))
		y.asleep(t, second)
		to = "planner"
		must(y.s.UpdateTask(y.ctx(), maya, second, task.Patch{Owner: &to}))
	})
	t.Run("no signup", func(t *testing.T) {
		if tk := y.signup(planner); tk != nil {
			t.Fatalf("got task %d", tk.ID)
		}
	})
	t.Run("no tick, with a receipt that names the blocker", func(t *testing.T) {
		must(y.s.Tick(y.ctx(), "cron"))
		y.asleep(t, second)
		st := must(y.s.Scheduler(y.ctx(), maya))
		for _, s := range st.Skips {
			if s.TaskID == second {
				equal(t, "reason", s.Reason, "blocked")
				equal(t, "detail", s.Detail, gated)
				return
			}
		}
		t.Fatal("no receipt")
	})
	t.Run("no run by hand", func(t *testing.T) {
		_, err := y.s.RunNow(y.ctx(), maya, second)
		refused(t, err, task.CodeTaskGated, gated)
	})
	t.Run("no claim by status", func(t *testing.T) {
		_, err := y.patchStatus(second, "working")
		refused(t, err, task.CodeTaskGated, gated)
	})
	t.Run("a run that is queued already ends instead of starting", func(t *testing.T) {
		tk := y.create(maya, "reviewer")
		r := y.openRun(tk.ID)
		y.block(tk.ID, first)
		st, _, err := y.s.NextRun(y.ctx(), map[task.ID]bool{first: true})
		ok(t, err)
		if st != nil {
			t.Fatalf("run %d started", st.Run.ID)
		}
		r = y.run(r.ID)
		equal(t, "state", r.State(), task.State{Status: task.RunCanceled, Phase: task.PhaseTaskClosed})
		equal(t, "reason", r.Reason, "the task is "+gated)
	})
	t.Run("who works on it continues, and a failed run is not tried again", func(t *testing.T) {
		tk := y.create(maya, "reviewer")
		st := y.start()
		for st.Run.TaskID != tk.ID {
			st = y.start()
		}
		must(y.s.SetBlockedBy(y.ctx(), y.actor(st), tk.ID, []task.ID{first}))
		must(y.s.Comment(y.ctx(), oleg, tk.ID, "news"))
		equal(t, "state", y.run(st.Run.ID).Status, task.RunRunning)
		y.finish(st, failure(task.PhaseError))
		y.asleep(t, tk.ID)
	})
	y.sound()
}

func TestTheLastBlockerWakesTheOwner(t *testing.T) {
	y := newInstance(t, wakes, noApprove)
	t.Run("when it is done", func(t *testing.T) {
		a, b := y.create(maya, "coder", noStart).ID, y.create(maya, "coder", noStart).ID
		tk := y.create(maya, "planner", after(a, b))
		y.complete(a)
		y.asleep(t, tk.ID)
		now := y.task(tk.ID)
		equal(t, "waits for", now.WaitingFor, task.WaitsTasks)
		if now.Version <= tk.Version {
			t.Fatal("the version did not move")
		}
		y.complete(b)
		equal(t, "waits for", y.task(tk.ID).WaitingFor, task.WaitingFor(""))
		equal(t, "event before the run", y.kinds(tk.ID)[len(y.kinds(tk.ID))-2], task.EvBlockerDone)
		y.woken(t, tk.ID, "planner")
	})
	t.Run("when it is taken off the set", func(t *testing.T) {
		_, k := y.pair()
		y.block(k)
		y.woken(t, k, "planner")
	})
	t.Run("but not the owner of a draft", func(t *testing.T) {
		a, k := y.pair(draft)
		y.complete(a)
		y.asleep(t, k)
	})
	t.Run("one that was done before does not block at all", func(t *testing.T) {
		done := after(y.in(task.Done).ID)
		y.woken(t, y.create(maya, "planner", done).ID, "planner")
		tk := y.create(maya, "pull", done)
		equal(t, "claimable", y.signup(pull).ID, tk.ID)
	})
	t.Run("a set that stays blocked wakes nobody", func(t *testing.T) {
		a, k := y.pair()
		y.block(k, a, y.create(maya, "coder", noStart).ID)
		y.asleep(t, k)
	})
	t.Run("a subtask that its parent waits for wakes it once", func(t *testing.T) {
		p := y.create(maya, "planner", noStart, steps("a"))
		sub := y.subtask(maya, p.ID, 0, "coder", noStart)
		y.block(p.ID, sub.ID)
		y.complete(sub.ID)
		equal(t, "runs", len(y.runs(p.ID)), 1)
		y.woken(t, p.ID, "planner")
	})
	y.sound()
}

func TestACanceledBlockerWaitsForAPerson(t *testing.T) {
	y := newInstance(t, wakes, noApprove)
	inbox := func() int { return must(y.s.Inbox(y.ctx(), maya)).Totals.BlockerCanceled }
	a, k := y.pair()
	y.cancel(a)
	t.Run("the task stays blocked and goes into the inbox", func(t *testing.T) {
		equal(t, "waits for", y.task(k).WaitingFor, task.WaitsTasks)
		equal(t, "event", last(y.kinds(k)), task.EvBlockerLost)
		equal(t, "in the inbox", inbox(), 1)
		y.asleep(t, k)
		_, err := y.s.RunNow(y.ctx(), maya, k)
		refused(t, err, task.CodeTaskGated, "canceled: a person decides")
	})
	t.Run("an agent may not leave it out", func(t *testing.T) {
		e := refused(t, second(y.s.SetBlockedBy(y.ctx(), planner, k, nil)), task.CodeForbidden, "a person decides")
		if !strings.Contains(e.Message, "notify") {
			t.Fatalf("no remedy in %q", e.Message)
		}
	})
	t.Run("but may add to the set", func(t *testing.T) {
		b := y.create(maya, "coder", noStart).ID
		must(y.s.SetBlockedBy(y.ctx(), planner, k, []task.ID{a, b}))
		must(y.s.SetBlockedBy(y.ctx(), planner, k, []task.ID{a}))
	})
	t.Run("a person may, and that wakes the owner", func(t *testing.T) {
		y.block(k)
		equal(t, "in the inbox", inbox(), 0)
		y.woken(t, k, "planner")
	})
	t.Run("one that was canceled before counts as canceled", func(t *testing.T) {
		d := y.create(maya, "planner", after(a))
		equal(t, "in the inbox", inbox(), 1)
		y.asleep(t, d.ID)
		y.cancel(d.ID)
		equal(t, "in the inbox once it is history", inbox(), 0)
	})
	t.Run("what is canceled together does not reach the inbox", func(t *testing.T) {
		p := y.create(maya, "planner", noStart, steps("a", "b"))
		one, two := y.subtask(maya, p.ID, 0, "coder", noStart), y.subtask(maya, p.ID, 1, "coder", noStart)
		outside := y.create(maya, "coder", noStart, after(one.ID))
		y.block(two.ID, one.ID)
		y.block(p.ID, two.ID)
		y.cancel(p.ID)
		for _, id := range []task.ID{p.ID, two.ID} {
			equal(t, "last event", last(y.kinds(id)), task.EvTaskCanceled)
		}
		equal(t, "last event outside", last(y.kinds(outside.ID)), task.EvBlockerLost)
		equal(t, "in the inbox", inbox(), 1)
	})
	y.sound()
}

func TestTheBlockersPagesAreTold(t *testing.T) {
	y := newInstance(t)
	a, b := y.create(maya, "coder").ID, y.create(maya, "coder").ID
	sub := y.s.Hub().Subscribe("task:" + a.String())
	defer sub.Close()
	y.block(b, a)
	equal(t, "topics", len(sub.Take()), 1)
	y.block(b)
	equal(t, "topics", len(sub.Take()), 1)
}

func TestLabels(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder", labels("ui", "api", "ui"))
	if !slices.Equal(tk.Labels, []string{"api", "ui"}) {
		t.Fatalf("%v", tk.Labels)
	}
	set := func(l ...string) (*task.Task, error) {
		return y.s.UpdateTask(y.ctx(), maya, tk.ID, task.Patch{Labels: &l})
	}
	t.Run("a patch replaces them, and the event tells both", func(t *testing.T) {
		got := must(set("z", "a-1"))
		if !slices.Equal(got.Labels, []string{"a-1", "z"}) || got.Version != tk.Version+1 {
			t.Fatalf("%+v", got)
		}
		list := must(y.s.Events(y.ctx(), maya, task.EventFilter{TaskID: tk.ID, Limit: 10}))
		equal(t, "changes", string(list[len(list)-1].Changes), `{"labels":[["api","ui"],["a-1","z"]]}`)
	})
	t.Run("the same again in another order writes nothing", func(t *testing.T) {
		before := y.lastEvent()
		must(set("z", "a-1", "a-1"))
		equal(t, "last event", y.lastEvent(), before)
	})
	t.Run("an empty list takes all off", func(t *testing.T) {
		if got := must(set()); len(got.Labels) > 0 {
			t.Fatalf("%v", got.Labels)
		}
	})
	t.Run("20 are the most", func(t *testing.T) {
		var many []string
		for i := range 21 {
			many = append(many, "l"+task.ID(i).String())
		}
		refused(t, second(set(many...)), task.CodeInvalidField, "labels: must be at most 20")
		must(set(many[1:]...))
	})
	for _, bad := range []string{"", "A", "a b", "é", "a_b", strings.Repeat("a", 33)} {
		t.Run("refused: "+bad, func(t *testing.T) {
			refused(t, second(set("ok", bad)), task.CodeInvalidField, "labels[1]")
			refused(t, second(y.s.CreateTask(y.ctx(), maya, task.New{Title: "x", Owner: "coder", Labels: []string{bad}})),
				task.CodeInvalidField, "labels[0]")
		})
	}
	t.Run("lists are narrowed by a whole label", func(t *testing.T) {
		one := y.create(maya, "pull", labels("api", "db")).ID
		two := y.create(maya, "pull", labels("api-v2")).ID
		for label, want := range map[string][]task.ID{"api": {one}, "db": {one}, "api-v2": {two}, "ap": {}, "nothing": {}} {
			p := must(y.s.OpenTasks(y.ctx(), maya, task.TaskFilter{Label: label, Owner: "pull", Limit: 10}))
			ids := []task.ID{}
			for _, tk := range p.Tasks {
				ids = append(ids, tk.ID)
			}
			if !slices.Equal(ids, want) {
				t.Errorf("%s: got %v, want %v", label, ids, want)
			}
		}
		refused(t, second(y.s.OpenTasks(y.ctx(), maya, task.TaskFilter{Label: "a b", Limit: 1})), task.CodeInvalidField, "label")
	})
}

func TestADelegatedTaskThatWaitsForAnotherIsNotCompleted(t *testing.T) {
	y := delegating(t, wakes)
	first := y.create(maya, "pull").ID
	_, _, own := y.inRun("boss")
	d := y.delegate(own, task.Delegation{})
	st := y.start()
	equal(t, "run", st.Run.ID, d.RunID)
	must(y.s.SetBlockedBy(y.ctx(), y.actor(st), d.TaskID, []task.ID{first}))
	y.finish(st, completed("I need #1 first"))
	equal(t, "status", y.task(d.TaskID).Status, task.Active)
	equal(t, "answer", y.delegated(own, d.RunID).Phase, task.PhaseHandedOn)
	y.complete(first)
	if y.openRun(d.TaskID) == nil {
		t.Fatal("the last blocker made no run")
	}
}

func TestAFreedTaskGoesToASignupThatWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, y *instance) {
		first := y.create(maya, "coder").ID
		done, dropped := y.create(maya, "pull", after(first)).ID, y.create(maya, "pull", after(first)).ID
		one := y.waitFor(t, y.ctx(), pull, 50*time.Second)
		y.block(dropped)
		one.claims(dropped)
		two := y.waitFor(t, y.ctx(), pull, 50*time.Second)
		y.complete(first)
		two.claims(done)
	})
}
