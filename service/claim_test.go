package service

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"taskyard/task"
)

func TestSignup(t *testing.T) {
	t.Run("twenty at once on one task make one winner and nineteen empty answers", func(t *testing.T) {
		y := newInstance(t)
		tk := y.create(maya, "coder", noStart)
		var wg sync.WaitGroup
		got := make([][]*task.Task, 20)
		errs := make([]error, 20)
		for i := range got {
			wg.Go(func() { got[i], errs[i] = y.s.Signup(y.ctx(), coder, "coder", 1) })
		}
		wg.Wait()
		winners := 0
		for i := range got {
			ok(t, errs[i])
			if winners += len(got[i]); len(got[i]) == 1 {
				equal(t, "task", got[i][0].ID, tk.ID)
			}
		}
		equal(t, "winners", winners, 1)
	})
	t.Run("priority comes first, then age", func(t *testing.T) {
		y := newInstance(t)
		a := y.create(maya, "pull", noStart, priority(5))
		b := y.create(maya, "pull", noStart, priority(10))
		c := y.create(maya, "coder", noStart, priority(10))
		d := y.create(maya, "coder", noStart, priority(10))
		e := y.create(maya, "coder", noStart, priority(-1))
		f := y.create(maya, "coder", noStart)
		for _, want := range []*task.Task{c, d, f, e} {
			equal(t, "next", y.signup(coder).ID, want.ID)
		}
		equal(t, "first of pull", y.signup(pull).ID, b.ID)
		equal(t, "second of pull", y.signup(pull).ID, a.ID)
		if tk := y.signup(coder); tk != nil {
			t.Fatalf("an empty queue gave task %d", tk.ID)
		}
	})
	t.Run("the answer holds the claim and the relations", func(t *testing.T) {
		y := newInstance(t)
		tk := y.create(maya, "coder", noStart, steps("one"), func(in *task.New) {
			in.Description = "all of it"
			in.Resources = []task.Resource{{Type: "file", Value: "/a", Label: "A"}}
		})
		must(y.s.Comment(y.ctx(), maya, tk.ID, "hello"))
		got := y.signup(coder)
		equal(t, "work status", got.WorkStatus, task.Working)
		equal(t, "claim", *got.Claim, task.Claim{ID: 1, Holder: "coder", Since: y.s.Now(), ExpiresAt: y.s.Now().Add(2 * time.Hour)})
		equal(t, "description", got.Description, "all of it")
		equal(t, "steps, links, comments", [3]int{len(got.Steps), len(got.Links), len(got.Comments)}, [3]int{1, 1, 1})
	})
	t.Run("a batch gives many in order, in one go", func(t *testing.T) {
		y := newInstance(t)
		for range 5 {
			y.create(maya, "coder", noStart)
		}
		equal(t, "first batch", len(must(y.s.Signup(y.ctx(), coder, "coder", 3))), 3)
		equal(t, "second batch", len(must(y.s.Signup(y.ctx(), coder, "coder", 50))), 2)
		equal(t, "third batch", len(must(y.s.Signup(y.ctx(), coder, "coder", 1))), 0)
		for _, n := range []int{0, -1, 51} {
			_, err := y.s.Signup(y.ctx(), coder, "coder", n)
			refused(t, err, task.CodeInvalidField, "count", "1 to 50")
		}
	})
	t.Run("max_claims bounds what an agent holds", func(t *testing.T) {
		y := newInstance(t)
		for range 4 {
			y.create(maya, "pull", noStart)
		}
		equal(t, "batch", len(must(y.s.Signup(y.ctx(), pull, "pull", 10))), 2)
		_, err := y.s.Signup(y.ctx(), pull, "pull", 1)
		refused(t, err, task.CodeMaxClaims, "2 of 2")
		y.Forward(3 * time.Hour)
		equal(t, "after the leases ran out", len(must(y.s.Signup(y.ctx(), pull, "pull", 1))), 1)
	})
	t.Run("drafts, questions, runs and other claims keep a task out of it", func(t *testing.T) {
		y := newInstance(t, noApprove)
		y.create(maya, "coder", draft)
		asked := y.create(maya, "coder", noStart)
		must(y.s.Ask(y.ctx(), coder, asked.ID, "which?", false))
		inRun := y.create(maya, "coder", noStart)
		must(y.s.RunNow(y.ctx(), maya, inRun.ID))
		if tk := y.signup(coder); tk != nil {
			t.Fatalf("task %d was given", tk.ID)
		}
	})
	t.Run("an unknown agent is named", func(t *testing.T) {
		y := newInstance(t)
		_, err := y.s.Signup(y.ctx(), maya, "zoe", 1)
		_, near := y.s.Signup(y.ctx(), maya, "codr", 1)
		refused(t, near, task.CodeAgentNotFound, "unknown agent: codr, did you mean coder?")
		refused(t, err, task.CodeAgentNotFound, "unknown agent: zoe", "known agents: code-focused, coder, ")
	})
}

func TestALeaseRunsOut(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder", noStart)
	claim := y.signup(coder).Claim.ID
	y.Forward(2*time.Hour - time.Second)
	equal(t, "released early", must(y.s.ReleaseExpired(y.ctx())), 0)
	y.Forward(time.Second)
	stale := func(t *testing.T, where string) {
		t.Helper()
		_, err := y.s.CompleteTask(y.ctx(), coder, tk.ID, "late", claim)
		refused(t, err, task.CodeStaleClaim)
		_, err = y.s.Heartbeat(y.ctx(), coder, tk.ID, claim)
		refused(t, err, task.CodeStaleClaim)
		_, err = y.s.ReleaseClaim(y.ctx(), coder, tk.ID, claim)
		refused(t, err, task.CodeStaleClaim)
		_, err = y.s.MoveTask(y.ctx(), coder, Move{TaskID: tk.ID, CurrentAgent: "coder", NewAgent: "pull", Comment: "x", Claim: claim})
		if where == "free" {
			refused(t, err, task.CodeNotWorking, "idle")
		} else {
			refused(t, err, task.CodeStaleClaim)
		}
		_, err = y.s.CompleteAndSignup(y.ctx(), coder, "coder", tk.ID, "", claim)
		refused(t, err, task.CodeStaleClaim)
	}
	t.Run("the task is idle from the moment of expiry", func(t *testing.T) {
		equal(t, "work status", y.task(tk.ID).WorkStatus, task.Idle)
		stale(t, "free")
	})
	t.Run("the system releases it with a comment", func(t *testing.T) {
		equal(t, "released", must(y.s.ReleaseExpired(y.ctx())), 1)
		equal(t, "released twice", must(y.s.ReleaseExpired(y.ctx())), 0)
		c := last(y.task(tk.ID).Comments)
		equal(t, "author", c.Author, task.System)
		equal(t, "kind", c.Kind, task.KindSystem)
		equal(t, "event", last(y.kinds(tk.ID)), task.EvClaimExpired)
	})
	t.Run("the old claim id stays stale when another claim follows", func(t *testing.T) {
		now := y.signup(coder)
		if now.Claim.ID == claim {
			t.Fatal("the claim id was used twice")
		}
		stale(t, "claimed")
		must(y.s.CompleteTask(y.ctx(), coder, tk.ID, "", now.Claim.ID))
	})
}

func TestTheHolderRenewsTheLease(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder", noStart, steps("a", "b"))
	y.signup(coder)
	for name, call := range map[string]func() error{
		"heartbeat": func() error { _, err := y.s.Heartbeat(y.ctx(), coder, tk.ID, 1); return err },
		"step": func() error {
			_, err := y.s.UpdateStep(y.ctx(), coder, tk.ID, 0, task.StepPatch{Title: ptr("x" + y.Now().String()[:18])})
			return err
		},
		"comment": func() error { _, err := y.s.Comment(y.ctx(), coder, tk.ID, "at it"); return err },
		"notice":  func() error { _, err := y.s.Notify(y.ctx(), coder, tk.ID, "at it"); return err },
		"description": func() error {
			_, err := y.s.UpdateTask(y.ctx(), coder, tk.ID, task.Patch{Description: ptr(y.Now().String())})
			return err
		},
		"resource": func() error {
			_, err := y.s.AddResource(y.ctx(), coder, tk.ID, task.Resource{Type: "file", Value: "/a"})
			return err
		},
	} {
		t.Run(name+" by the holder", func(t *testing.T) {
			y.Forward(time.Hour)
			ok(t, call())
			equal(t, "expiry", y.task(tk.ID).Claim.ExpiresAt, y.s.Now().Add(2*time.Hour))
		})
	}
	t.Run("but not a comment by somebody else", func(t *testing.T) {
		y.Forward(time.Hour)
		must(y.s.Comment(y.ctx(), maya, tk.ID, "continue"))
		equal(t, "expiry", y.task(tk.ID).Claim.ExpiresAt, y.s.Now().Add(time.Hour))
	})
	t.Run("and a renewal is no change of the task", func(t *testing.T) {
		v := y.task(tk.ID).Version
		must(y.s.Heartbeat(y.ctx(), coder, tk.ID, 0))
		equal(t, "version", y.task(tk.ID).Version, v)
	})
}

func TestCompleteAndSignup(t *testing.T) {
	y := newInstance(t)
	a := y.create(maya, "coder", noStart)
	b := y.create(maya, "coder", noStart)
	y.signup(coder)
	t.Run("completes one and claims the next", func(t *testing.T) {
		out := must(y.s.CompleteAndSignup(y.ctx(), coder, "coder", a.ID, "done a", 1))
		equal(t, "completed", out.Completed.Summary, "done a")
		equal(t, "next", out.Task.ID, b.ID)
		equal(t, "work status", out.Task.WorkStatus, task.Working)
	})
	t.Run("refuses what belongs to another", func(t *testing.T) {
		other := y.create(maya, "pull", noStart)
		_, err := y.s.CompleteAndSignup(y.ctx(), coder, "coder", other.ID, "", 0)
		refused(t, err, task.CodeNotAssigned, "pull")
	})
	t.Run("gives no task when the queue is empty", func(t *testing.T) {
		out := must(y.s.CompleteAndSignup(y.ctx(), coder, "coder", b.ID, "", 0))
		if out.Task != nil {
			t.Fatalf("got task %d", out.Task.ID)
		}
		equal(t, "status", y.task(b.ID).Status, task.Done)
	})
	t.Run("names what the agent still holds when the queue is empty", func(t *testing.T) {
		first, second := y.create(maya, "coder", noStart), y.create(maya, "coder", noStart)
		y.signup(coder)
		y.signup(coder)
		out := must(y.s.CompleteAndSignup(y.ctx(), coder, "coder", first.ID, "", 0))
		equal(t, "held", fmt.Sprint(out.Held), fmt.Sprint([]task.ID{second.ID}))
	})
}
