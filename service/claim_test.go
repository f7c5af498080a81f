package service

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"taskyard/task"
)

func TestSignup(t *testing.T) {
	t.Parallel()
	t.Run("of twenty concurrent signups for one task one succeeds and nineteen get nothing", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.create(maya, "coder", noStart)
		var wg sync.WaitGroup
		got := make([][]*task.Task, 20)
		errs := make([]error, 20)
		for i := range got {
			wg.Go(func() { got[i], errs[i] = inst.s.Signup(inst.ctx(), coder, "coder", 1) })
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
		inst := newInstance(t)
		a := inst.create(maya, "pull", noStart, priority(5))
		b := inst.create(maya, "pull", noStart, priority(10))
		c := inst.create(maya, "coder", noStart, priority(10))
		d := inst.create(maya, "coder", noStart, priority(10))
		e := inst.create(maya, "coder", noStart, priority(-1))
		f := inst.create(maya, "coder", noStart)
		for _, want := range []*task.Task{c, d, f, e} {
			equal(t, "next", inst.signup(coder).ID, want.ID)
		}
		equal(t, "first of pull", inst.signup(pull).ID, b.ID)
		equal(t, "second of pull", inst.signup(pull).ID, a.ID)
		if tk := inst.signup(coder); tk != nil {
			t.Fatalf("an empty queue returned task %d", tk.ID)
		}
	})
	t.Run("the response contains the claim and the related objects", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.create(maya, "coder", noStart, steps("one"), func(in *task.New) {
			in.Description = "all of it"
			in.Resources = []task.Resource{{Type: "file", Value: "/a", Label: "A"}}
		})
		must(inst.s.Comment(inst.ctx(), maya, tk.ID, "hello"))
		got := inst.signup(coder)
		equal(t, "work status", got.WorkStatus, task.Working)
		equal(t, "claim", *got.Claim, task.Claim{ID: 1, Holder: "coder", Since: inst.s.Now(), ExpiresAt: inst.s.Now().Add(2 * time.Hour)})
		equal(t, "description", got.Description, "all of it")
		equal(t, "steps, links, comments", [3]int{len(got.Steps), len(got.Links), len(got.Comments)}, [3]int{1, 1, 1})
	})
	t.Run("a batch returns several tasks in order", func(t *testing.T) {
		inst := newInstance(t)
		for range 5 {
			inst.create(maya, "coder", noStart)
		}
		equal(t, "first batch", len(must(inst.s.Signup(inst.ctx(), coder, "coder", 3))), 3)
		equal(t, "second batch", len(must(inst.s.Signup(inst.ctx(), coder, "coder", 50))), 2)
		equal(t, "third batch", len(must(inst.s.Signup(inst.ctx(), coder, "coder", 1))), 0)
		for _, n := range []int{0, -1, 51} {
			_, err := inst.s.Signup(inst.ctx(), coder, "coder", n)
			refused(t, err, task.CodeInvalidField, "count", "1 to 50")
		}
	})
	t.Run("max_claims limits the claims of an agent", func(t *testing.T) {
		inst := newInstance(t)
		for range 4 {
			inst.create(maya, "pull", noStart)
		}
		equal(t, "batch", len(must(inst.s.Signup(inst.ctx(), pull, "pull", 10))), 2)
		_, err := inst.s.Signup(inst.ctx(), pull, "pull", 1)
		refused(t, err, task.CodeMaxClaims, "2 of 2")
		inst.Forward(3 * time.Hour)
		equal(t, "after the leases expired", len(must(inst.s.Signup(inst.ctx(), pull, "pull", 1))), 1)
	})
	t.Run("drafts, questions, runs and other claims exclude a task", func(t *testing.T) {
		inst := newInstance(t, noApprove)
		inst.create(maya, "coder", draft)
		asked := inst.create(maya, "coder", noStart)
		must(inst.s.Ask(inst.ctx(), coder, asked.ID, "which?", false))
		inRun := inst.create(maya, "coder", noStart)
		must(inst.s.RunNow(inst.ctx(), maya, inRun.ID))
		if tk := inst.signup(coder); tk != nil {
			t.Fatalf("got task %d", tk.ID)
		}
	})
	t.Run("the error names an unknown agent", func(t *testing.T) {
		inst := newInstance(t)
		_, err := inst.s.Signup(inst.ctx(), maya, "zoe", 1)
		_, near := inst.s.Signup(inst.ctx(), maya, "codr", 1)
		refused(t, near, task.CodeAgentNotFound, "unknown agent: codr, did you mean coder?")
		refused(t, err, task.CodeAgentNotFound, "unknown agent: zoe", "known agents: code-focused, coder, ")
	})
}

func TestALeaseExpires(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart)
	claim := inst.signup(coder).Claim.ID
	inst.Forward(2*time.Hour - time.Second)
	equal(t, "released early", must(inst.s.ReleaseExpired(inst.ctx())), 0)
	inst.Forward(time.Second)
	stale := func(t *testing.T, where string) {
		t.Helper()
		_, err := inst.s.CompleteTask(inst.ctx(), coder, tk.ID, "late", claim)
		refused(t, err, task.CodeStaleClaim)
		_, err = inst.s.Heartbeat(inst.ctx(), coder, tk.ID, claim)
		refused(t, err, task.CodeStaleClaim)
		_, err = inst.s.ReleaseClaim(inst.ctx(), coder, tk.ID, claim)
		refused(t, err, task.CodeStaleClaim)
		_, err = inst.s.MoveTask(inst.ctx(), coder, Move{TaskID: tk.ID, CurrentAgent: "coder", NewAgent: "pull", Comment: "x", Claim: claim})
		if where == "free" {
			refused(t, err, task.CodeNotWorking, "idle")
		} else {
			refused(t, err, task.CodeStaleClaim)
		}
		_, err = inst.s.CompleteAndSignup(inst.ctx(), coder, "coder", tk.ID, "", claim)
		refused(t, err, task.CodeStaleClaim)
	}
	t.Run("the task is idle from the moment of expiry", func(t *testing.T) {
		equal(t, "work status", inst.task(tk.ID).WorkStatus, task.Idle)
		stale(t, "free")
	})
	t.Run("the system releases it with a comment", func(t *testing.T) {
		equal(t, "released", must(inst.s.ReleaseExpired(inst.ctx())), 1)
		equal(t, "released twice", must(inst.s.ReleaseExpired(inst.ctx())), 0)
		c := last(inst.task(tk.ID).Comments)
		equal(t, "author", c.Author, task.System)
		equal(t, "kind", c.Kind, task.KindSystem)
		equal(t, "event", last(inst.kinds(tk.ID)), task.EvClaimExpired)
	})
	t.Run("the old claim ID stays stale after another claim", func(t *testing.T) {
		now := inst.signup(coder)
		if now.Claim.ID == claim {
			t.Fatal("the claim ID was used twice")
		}
		stale(t, "claimed")
		must(inst.s.CompleteTask(inst.ctx(), coder, tk.ID, "", now.Claim.ID))
	})
}

func TestTheHolderRenewsTheLease(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart, steps("a", "b"))
	inst.signup(coder)
	for name, call := range map[string]func() error{
		"heartbeat": func() error { _, err := inst.s.Heartbeat(inst.ctx(), coder, tk.ID, 1); return err },
		"step": func() error {
			_, err := inst.s.UpdateStep(inst.ctx(), coder, tk.ID, 0, task.StepPatch{Title: ptr("x" + inst.Now().String()[:18])})
			return err
		},
		"comment": func() error { _, err := inst.s.Comment(inst.ctx(), coder, tk.ID, "at it"); return err },
		"notice":  func() error { _, err := inst.s.Notify(inst.ctx(), coder, tk.ID, "at it"); return err },
		"description": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), coder, tk.ID, task.Patch{Description: ptr(inst.Now().String())})
			return err
		},
		"resource": func() error {
			_, err := inst.s.AddResource(inst.ctx(), coder, tk.ID, task.Resource{Type: "file", Value: "/a"})
			return err
		},
	} {
		t.Run(name+" by the holder", func(t *testing.T) {
			inst.Forward(time.Hour)
			ok(t, call())
			equal(t, "expiry", inst.task(tk.ID).Claim.ExpiresAt, inst.s.Now().Add(2*time.Hour))
		})
	}
	t.Run("but not a comment by another caller", func(t *testing.T) {
		inst.Forward(time.Hour)
		must(inst.s.Comment(inst.ctx(), maya, tk.ID, "continue"))
		equal(t, "expiry", inst.task(tk.ID).Claim.ExpiresAt, inst.s.Now().Add(time.Hour))
	})
	t.Run("a renewal does not change the task", func(t *testing.T) {
		v := inst.task(tk.ID).Version
		must(inst.s.Heartbeat(inst.ctx(), coder, tk.ID, 0))
		equal(t, "version", inst.task(tk.ID).Version, v)
	})
}

func TestCompleteAndSignup(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	a := inst.create(maya, "coder", noStart)
	b := inst.create(maya, "coder", noStart)
	inst.signup(coder)
	t.Run("completes one and claims the next", func(t *testing.T) {
		out := must(inst.s.CompleteAndSignup(inst.ctx(), coder, "coder", a.ID, "done a", 1))
		equal(t, "completed", out.Completed.Summary, "done a")
		equal(t, "next", out.Task.ID, b.ID)
		equal(t, "work status", out.Task.WorkStatus, task.Working)
	})
	t.Run("refuses a task of another agent", func(t *testing.T) {
		other := inst.create(maya, "pull", noStart)
		_, err := inst.s.CompleteAndSignup(inst.ctx(), coder, "coder", other.ID, "", 0)
		refused(t, err, task.CodeNotAssigned, "pull")
	})
	t.Run("returns no task if the queue is empty", func(t *testing.T) {
		out := must(inst.s.CompleteAndSignup(inst.ctx(), coder, "coder", b.ID, "", 0))
		if out.Task != nil {
			t.Fatalf("got task %d", out.Task.ID)
		}
		equal(t, "status", inst.task(b.ID).Status, task.Done)
	})
	t.Run("names the agent's other claims if the queue is empty", func(t *testing.T) {
		first, second := inst.create(maya, "coder", noStart), inst.create(maya, "coder", noStart)
		inst.signup(coder)
		inst.signup(coder)
		out := must(inst.s.CompleteAndSignup(inst.ctx(), coder, "coder", first.ID, "", 0))
		equal(t, "held", fmt.Sprint(out.Held), fmt.Sprint([]task.ID{second.ID}))
	})
}
