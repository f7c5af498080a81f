package service

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// inBubble calls fn with an instance in a synctest bubble.
func inBubble(t *testing.T, fn func(t *testing.T, inst *instance), with ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		inst := newInstance(t, with...)
		fn(t, inst)
		inst.s.Hub().Close()
		synctest.Wait()
		equal(t, "waiting at the end", inst.s.WaitingSignups(), 0)
		ok(t, inst.db.Close())
	})
}

// pending is a waiting signup.
type pending struct {
	t    *testing.T
	done chan struct{}
	got  []*task.Task
	err  error
	took time.Duration
}

func (inst *instance) waitFor(t *testing.T, ctx context.Context, a task.Actor, wait time.Duration) *pending {
	t.Helper()
	p := &pending{t: t, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		start := time.Now()
		p.got, p.err = inst.s.SignupWait(ctx, a, a.Name, 1, wait)
		p.took = time.Since(start)
	}()
	synctest.Wait()
	return p
}

// wantTask checks that the wait ended with a task; 0 means without one.
func (p *pending) wantTask(id task.ID) {
	p.t.Helper()
	synctest.Wait()
	select {
	case <-p.done:
	default:
		p.t.Fatalf("still waiting, want task %d", id)
	}
	ok(p.t, p.err)
	got := task.ID(0)
	if len(p.got) > 0 {
		got = p.got[0].ID
	}
	equal(p.t, "claimed", got, id)
}

func (p *pending) wantWaiting() {
	p.t.Helper()
	synctest.Wait()
	select {
	case <-p.done:
		p.t.Fatalf("the wait ended with %v, %v", p.got, p.err)
	default:
	}
}

func TestAWaitingSignupGetsTheNextTask(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	claimed := func(inst *instance, a task.Actor) *task.Task {
		inst.create(maya, a.Name, noStart)
		return inst.signup(a)
	}
	for name, c := range map[string]func(inst *instance) (free func() task.ID){
		"a task is created": func(inst *instance) func() task.ID {
			return func() task.ID { return inst.create(maya, "coder").ID }
		},
		"a draft is started": func(inst *instance) func() task.ID {
			tk := inst.create(maya, "coder", draft)
			return func() task.ID {
				active := "active"
				return must(inst.s.UpdateTask(ctx, maya, tk.ID, task.Patch{Status: &active})).ID
			}
		},
		"a claim is released": func(inst *instance) func() task.ID {
			tk := claimed(inst, coder)
			return func() task.ID { return must(inst.s.ReleaseClaim(ctx, coder, tk.ID, 0)).ID }
		},
		"a claim expires": func(inst *instance) func() task.ID {
			tk := claimed(inst, coder)
			return func() task.ID {
				inst.Forward(3 * time.Hour)
				equal(inst.t, "released", must(inst.s.ReleaseExpired(ctx)), 1)
				return tk.ID
			}
		},
		"a task is handed over": func(inst *instance) func() task.ID {
			tk := claimed(inst, pull)
			return func() task.ID {
				return must(inst.s.MoveTask(ctx, pull, Move{TaskID: tk.ID, CurrentAgent: "pull", NewAgent: "coder", Comment: "yours"})).ID
			}
		},
		"the owner is changed": func(inst *instance) func() task.ID {
			tk := inst.create(maya, "pull", noStart)
			return func() task.ID {
				to := "coder"
				return must(inst.s.UpdateTask(ctx, maya, tk.ID, task.Patch{Owner: &to})).ID
			}
		},
		"tasks are reassigned": func(inst *instance) func() task.ID {
			tk := inst.create(maya, "pull", noStart)
			return func() task.ID {
				return must(inst.s.Reassign(ctx, maya, "pull", []task.ID{tk.ID}, "coder", "yours"))[0].ID
			}
		},
		"a question is answered": func(inst *instance) func() task.ID {
			tk := inst.create(maya, "coder", noStart)
			must(inst.s.Ask(ctx, maya, tk.ID, "?", false))
			return func() task.ID { return must(inst.s.Reply(ctx, maya, tk.ID, "!")).TaskID }
		},
		"the last blocker is done": func(inst *instance) func() task.ID {
			first, tk := inst.create(maya, "pull", noStart), inst.create(maya, "coder", noStart)
			must(inst.s.SetBlockedBy(ctx, maya, tk.ID, []task.ID{first.ID}))
			return func() task.ID {
				must(inst.s.CompleteTask(ctx, maya, first.ID, "", 0))
				return tk.ID
			}
		},
		"the blockers are removed": func(inst *instance) func() task.ID {
			first, tk := inst.create(maya, "pull", noStart), inst.create(maya, "coder", noStart)
			must(inst.s.SetBlockedBy(ctx, maya, tk.ID, []task.ID{first.ID}))
			return func() task.ID { return must(inst.s.SetBlockedBy(ctx, maya, tk.ID, nil)).ID }
		},
		"a subtask is created": func(inst *instance) func() task.ID {
			tk := inst.create(maya, "planner", noStart, steps("one"))
			return func() task.ID { return inst.subtask(planner, tk.ID, 0, "coder").ID }
		},
		"a run ends": func(inst *instance) func() task.ID {
			tk := inst.create(maya, "coder", noStart)
			st := inst.runTask(tk.ID)
			return func() task.ID { inst.finish(st, completed("half of it")); return tk.ID }
		},
		"a waiting run is canceled": func(inst *instance) func() task.ID {
			tk := inst.create(maya, "coder", noStart)
			r := must(inst.s.RunNow(ctx, maya, tk.ID))
			return func() task.ID { return must(inst.s.CancelRun(ctx, maya, r.ID, "")).TaskID }
		},
		"a run is denied": func(inst *instance) func() task.ID {
			tk := inst.create(planner, "coder", noStart)
			r := must(inst.s.RunNow(ctx, maya, tk.ID))
			return func() task.ID { return must(inst.s.DenyRun(ctx, rita, r.ID, "no", 0)).TaskID }
		},
		"a run ends that handed over its task": func(inst *instance) func() task.ID {
			tk := inst.create(maya, "planner", noStart)
			st := inst.runTask(tk.ID)
			must(inst.s.MoveTask(ctx, inst.actor(st), Move{TaskID: tk.ID, CurrentAgent: "planner", NewAgent: "coder", Comment: "yours"}))
			return func() task.ID { inst.finish(st, completed("handed over")); return tk.ID }
		},
	} {
		t.Run("when "+name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, inst *instance) {
				free := c(inst)
				p := inst.waitFor(t, ctx, coder, 50*time.Second)
				p.wantWaiting()
				p.wantTask(free())
			})
		})
	}
}

func TestAWaitingSignupWaits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("not at all if a task is unclaimed", func(t *testing.T) {
		inBubble(t, func(t *testing.T, inst *instance) {
			tk := inst.create(maya, "coder")
			p := inst.waitFor(t, ctx, coder, time.Second)
			p.wantTask(tk.ID)
			equal(t, "took", p.took, 0)
		})
	})
	t.Run("for the requested time, and ends without a task", func(t *testing.T) {
		inBubble(t, func(t *testing.T, inst *instance) {
			p := inst.waitFor(t, ctx, coder, 50*time.Second)
			time.Sleep(50*time.Second - time.Nanosecond)
			p.wantWaiting()
			time.Sleep(time.Nanosecond)
			p.wantTask(0)
			equal(t, "took", p.took, 50*time.Second)
			if p.got == nil {
				t.Error("the empty response is not a list")
			}
		})
	})
	t.Run("without reading or writing the database", func(t *testing.T) {
		inBubble(t, func(t *testing.T, inst *instance) {
			p := inst.waitFor(t, ctx, coder, 50*time.Second)
			inst.create(maya, "pull", noStart) // a task that nobody waits for
			before := inst.Clock.Reads()
			time.Sleep(40 * time.Second)
			p.wantWaiting()
			equal(t, "reads and writes", inst.Clock.Reads()-before, 0)
		})
	})
	t.Run("until the server stops, without an error", func(t *testing.T) {
		inBubble(t, func(t *testing.T, inst *instance) {
			p := inst.waitFor(t, ctx, coder, 50*time.Second)
			inst.s.Hub().Close()
			p.wantTask(0)
			equal(t, "took", p.took, 0)
		})
	})
	t.Run("until the caller disconnects, and claims nothing", func(t *testing.T) {
		inBubble(t, func(t *testing.T, inst *instance) {
			gone, leave := context.WithCancel(ctx)
			p, q := inst.waitFor(t, gone, coder, 50*time.Second), inst.waitFor(t, ctx, coder, 50*time.Second)
			leave()
			tk := inst.create(maya, "coder")
			q.wantTask(tk.ID)
			<-p.done
			if !errors.Is(p.err, context.Canceled) || len(p.got) > 0 {
				t.Errorf("got %v, %v", p.got, p.err)
			}
		})
	})
	t.Run("in order of arrival", func(t *testing.T) {
		inBubble(t, func(t *testing.T, inst *instance) {
			var line []*pending
			for range 5 {
				line = append(line, inst.waitFor(t, ctx, coder, 50*time.Second))
			}
			for _, p := range line {
				p.wantWaiting()
				p.wantTask(inst.create(maya, "coder").ID)
			}
		})
	})
	t.Run("and keeps its place if another was faster", func(t *testing.T) {
		inBubble(t, func(t *testing.T, inst *instance) {
			first, second := inst.waitFor(t, ctx, coder, 50*time.Second), inst.waitFor(t, ctx, coder, 50*time.Second)
			tk := inst.create(maya, "coder", draft)
			inst.s.waits.wake("coder") // without a task
			first.wantWaiting()
			active := "active"
			must(inst.s.UpdateTask(ctx, maya, tk.ID, task.Patch{Status: &active}))
			first.wantTask(tk.ID)
			second.wantWaiting()
		})
	})
	t.Run("until max_claims is reached, with the same error as without waiting", func(t *testing.T) {
		inBubble(t, func(t *testing.T, inst *instance) {
			var line []*pending
			for range 3 {
				line = append(line, inst.waitFor(t, ctx, pull, 50*time.Second))
			}
			line[0].wantTask(inst.create(maya, "pull").ID)
			line[1].wantTask(inst.create(maya, "pull").ID)
			synctest.Wait()
			<-line[2].done
			refused(t, line[2].err, task.CodeMaxClaims)
			_, err := inst.s.SignupWait(ctx, pull, "pull", 1, time.Second)
			refused(t, err, task.CodeMaxClaims)
		})
	})
}

func TestAPauseDuringTheWait(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, agent := range map[string]string{"of the agent": "coder", "of the server": ""} {
		t.Run(name+" keeps the wait, and a resume serves it", func(t *testing.T) {
			inBubble(t, func(t *testing.T, inst *instance) {
				p, q := inst.waitFor(t, ctx, coder, 50*time.Second), inst.waitFor(t, ctx, coder, 50*time.Second)
				must(inst.s.Pause(ctx, maya, agent, "lunch"))
				a, b := inst.create(maya, "coder"), inst.create(maya, "coder")
				p.wantWaiting()
				q.wantWaiting()
				_, err := inst.s.SignupWait(ctx, coder, "coder", 1, time.Second)
				refused(t, err, task.CodePaused)
				must(inst.s.Resume(ctx, maya, agent, ""))
				<-p.done
				<-q.done
				// A resume wakes both; either may be faster.
				got := []task.ID{p.got[0].ID, q.got[0].ID}
				slices.Sort(got)
				equal(t, "first claimed", got[0], a.ID)
				equal(t, "second claimed", got[1], b.ID)
			})
		})
	}
}

func TestASignalIsNeverLost(t *testing.T) {
	t.Parallel()
	var r claimWaiters
	a, b, c := r.join("coder", 9), r.join("coder", 9), r.join("coder", 9)
	signals := func(want ...int) {
		t.Helper()
		for i, w := range []*waiter{a, b, c} {
			equal(t, "signals of waiter "+task.ID(i).String(), len(w.wake), want[i])
		}
	}
	r.wake("pull")
	signals(0, 0, 0)
	r.wake("coder")
	signals(1, 0, 0)
	r.remove(a) // without having checked, because its wait was over
	signals(1, 1, 0)
	<-b.wake
	r.requeue(b)
	r.wake("coder") // while b checks
	signals(1, 1, 0)
	r.wake("coder")
	r.wake("coder")
	signals(1, 1, 1)
	r.remove(b)
	r.remove(c)
	equal(t, "waiting", r.n.Load(), 0)
}

func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	inBubble(t, func(t *testing.T, inst *instance) {
		for _, wait := range []time.Duration{-time.Second, 51 * time.Second} {
			_, err := inst.s.SignupWait(ctx, coder, "coder", 1, wait)
			refused(t, err, task.CodeInvalidField, "waitSeconds", "0 to 50")
		}
		_, err := inst.s.SignupWait(ctx, coder, "coder", 51, time.Second)
		refused(t, err, task.CodeInvalidField, "count")
		_, err = inst.s.SignupWait(ctx, coder, "pull", 1, time.Second)
		refused(t, err, task.CodeNotYourName)
		_, err = inst.s.SignupWait(ctx, maya, "nobody", 1, time.Second)
		refused(t, err, task.CodeAgentNotFound)
		p, q := inst.waitFor(t, ctx, coder, 50*time.Second), inst.waitFor(t, ctx, coder, 50*time.Second)
		_, err = inst.s.SignupWait(ctx, pull, "pull", 1, time.Second)
		if e := refused(t, err, task.CodeRateLimited, "too many"); e.Retry == 0 {
			t.Error("the error has no retry time")
		}
		tk := inst.create(maya, "pull")
		equal(t, "an unclaimed task needs no waiter slot", must(inst.s.SignupWait(ctx, pull, "pull", 1, time.Second))[0].ID, tk.ID)
		p.wantTask(inst.create(maya, "coder").ID)
		q.wantWaiting()
	}, func(c *Config) { c.WaitLimit = 2 })
}

func TestAWaitWithAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	key := func(k string) context.Context {
		return WithIdempotency(context.Background(), &Idempotency{Caller: "coder", Key: k, Request: []byte("r")})
	}
	t.Run("claims once, and a repeat gets the same task", func(t *testing.T) {
		inBubble(t, func(t *testing.T, inst *instance) {
			p, twin := inst.waitFor(t, key("k"), coder, 50*time.Second), inst.waitFor(t, key("k"), coder, 50*time.Second)
			tk := inst.create(maya, "coder")
			p.wantTask(tk.ID)
			twin.wantTask(tk.ID)
			again := inst.waitFor(t, key("k"), coder, 50*time.Second)
			again.wantTask(tk.ID)
			equal(t, "claims", inst.task(tk.ID).Claim.ID, 1)
		})
	})
	t.Run("stores an empty response only after the wait", func(t *testing.T) {
		inBubble(t, func(t *testing.T, inst *instance) {
			p := inst.waitFor(t, key("k"), coder, 10*time.Second)
			time.Sleep(10 * time.Second)
			p.wantTask(0)
			inst.create(maya, "coder", noStart)
			again := inst.waitFor(t, key("k"), coder, 10*time.Second)
			again.wantTask(0)
			equal(t, "took", again.took, 0)
		})
	})
}

func TestAClaimIsReleasedIfTheCallerDisconnected(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, inst *instance) {
		next := inst.waitFor(t, context.Background(), coder, 50*time.Second)
		gone, leave := context.WithCancel(context.Background())
		tk := inst.create(maya, "coder", draft)
		active := "active"
		// The claim and the start of the draft share a batch: the caller disconnects
		// while the writer is busy with it.
		var wg sync.WaitGroup
		hold := make(chan struct{})
		wg.Go(func() {
			ok(t, inst.db.Write(context.Background(), func(*db.Tx) error { <-hold; return nil }))
		})
		synctest.Wait()
		wg.Go(func() {
			must(inst.s.UpdateTask(context.Background(), maya, tk.ID, task.Patch{Status: &active}))
		})
		synctest.Wait()
		wg.Go(func() {
			got, err := inst.s.trySignup(gone, coder, "coder", 1)
			if len(got) > 0 || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, %v", got, err)
			}
		})
		synctest.Wait()
		wg.Go(func() { ok(t, inst.db.Write(context.Background(), func(*db.Tx) error { leave(); return nil })) })
		synctest.Wait()
		close(hold)
		wg.Wait()
		next.wantTask(tk.ID)
		inst.checkChain()
	})
}

func TestManyWaitersAndManyTasks(t *testing.T) {
	t.Parallel()
	inBubble(t, manyWaiters)
}

func manyWaiters(t *testing.T, inst *instance) {
	const n = 1000
	var wg sync.WaitGroup
	got := make([]task.ID, n)
	for i := range n {
		wg.Go(func() {
			list, err := inst.s.SignupWait(inst.ctx(), coder, "coder", 1, task.MaxWait)
			if err != nil || len(list) != 1 {
				t.Errorf("waiter %d: got %v, %v", i, list, err)
				return
			}
			got[i] = list[0].ID
		})
	}
	synctest.Wait()
	equal(t, "waiting", inst.s.WaitingSignups(), n)
	for range 8 {
		wg.Go(func() {
			for range n / 8 {
				if _, err := inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: "coder"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[task.ID]bool{}
	for _, id := range got {
		seen[id] = true
	}
	equal(t, "distinct tasks", len(seen), n)
	inst.checkChain()
}

func TestAutoSignup(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	ctx := inst.ctx()
	for range 4 {
		inst.create(maya, "coder", noStart)
		inst.create(maya, "pull", noStart)
	}
	auto := func(a task.Actor, n int) AutoSignup {
		t.Helper()
		return must(inst.s.AutoSignup(ctx, a, a.Name, n))
	}
	t.Run("claims until the agent has the requested number", func(t *testing.T) {
		inst.signup(coder)
		out := auto(coder, 3)
		equal(t, "claimed and held", [2]int{len(out.Tasks), len(out.Held)}, [2]int{2, 3})
		equal(t, "the first", out.Tasks[0].ID, 3)
		out = auto(coder, 3)
		equal(t, "claimed and held again", [2]int{len(out.Tasks), len(out.Held)}, [2]int{0, 3})
		out = auto(coder, 2)
		equal(t, "claimed and held with a lower number", [2]int{len(out.Tasks), len(out.Held)}, [2]int{0, 3})
		out = auto(coder, 50)
		equal(t, "claimed and held with a higher number than available", [2]int{len(out.Tasks), len(out.Held)}, [2]int{1, 4})
	})
	t.Run("stops at max_claims without an error", func(t *testing.T) {
		for range 2 {
			equal(t, "held", len(auto(pull, 10).Held), 2)
		}
	})
	t.Run("ignores expired claims", func(t *testing.T) {
		inst.Forward(3 * time.Hour)
		equal(t, "held", len(auto(coder, 1).Held), 0)
		must(inst.s.ReleaseExpired(ctx))
		equal(t, "held", len(auto(coder, 1).Held), 1)
	})
	t.Run("refuses an invalid number and another agent", func(t *testing.T) {
		for _, n := range []int{-1, 0, 51} {
			_, err := inst.s.AutoSignup(ctx, coder, "coder", n)
			refused(t, err, task.CodeInvalidField, "maxConcurrent", "1 to 50")
		}
		_, err := inst.s.AutoSignup(ctx, coder, "pull", 1)
		refused(t, err, task.CodeNotYourName)
		_, err = inst.s.AutoSignup(ctx, vera, "pull", 1)
		refused(t, err, task.CodeForbidden)
	})
}

var errDry = errors.New("only a look")

// claimableNow returns what signups would claim now.
func (inst *instance) claimableNow(agents []string) map[string][]task.ID {
	inst.t.Helper()
	free := map[string][]task.ID{}
	err := inst.db.Write(inst.ctx(), func(tx *db.Tx) error {
		for _, a := range agents {
			free[a] = nil
			for {
				tk, err := tx.ClaimNext(a, nil, time.Hour)
				if err != nil {
					return err
				}
				if tk == nil {
					break
				}
				free[a] = append(free[a], tk.ID)
			}
		}
		return errDry
	})
	if !errors.Is(err, errDry) {
		inst.t.Fatalf("unexpected error: %v", err)
	}
	return free
}

// checkWaiters checks that a task that becomes claimable wakes a waiter.
func (s *machine) checkWaiters() {
	s.t.Helper()
	free := s.claimableNow(modelOwners)
	for _, agent := range modelOwners {
		w := s.waiters[agent]
		if w == nil {
			s.waiters[agent] = s.s.waits.join(agent, 10)
			continue
		}
		woken := len(w.wake) > 0
		for _, id := range free[agent] {
			if !slices.Contains(s.free[agent], id) && !woken {
				s.t.Fatalf("task %d became claimable for %s without waking a waiter", id, agent)
			}
		}
		if woken {
			<-w.wake
			s.s.waits.requeue(w)
		}
	}
	s.free = free
}
