package service

import (
	"testing"
	"time"

	"taskyard/task"
)

// TestAgentsAskForBoundedRuns: two tasks of one agent, whose runs start each
// other again and again, would continue forever without a person.
func TestAgentsAskForBoundedRuns(t *testing.T) {
	y := newInstance(t, noApprove, func(c *Config) { c.WakeBudget = 3 })
	tk := y.create(maya, "coder", noStart)
	again := func() error { // the agent's own run of it has ended: it asks again
		r, err := y.s.RunNow(y.ctx(), coder, tk.ID)
		if err != nil {
			return err
		}
		y.finish(y.start(), completed("done"))
		if _, err = y.s.RetryRun(y.ctx(), coder, r.ID); err != nil {
			return err
		}
		y.finish(y.start(), completed("done"))
		return nil
	}
	t.Run("an agent asks for runs of a task as often as news may wake it", func(t *testing.T) {
		ok(t, again())
		e := refused(t, again(), task.CodeRateLimited, "3 times", "within an hour", "coder")
		equal(t, "kind", e.Kind, task.TooMany)
		equal(t, "wait", e.Retry > 3500 && e.Retry <= 3600, true)
		equal(t, "runs", len(y.runs(tk.ID)), 3)
	})
	t.Run("people are not bounded", func(t *testing.T) {
		must(y.s.RetryRun(y.ctx(), maya, y.runs(tk.ID)[0].ID))
		y.finish(y.start(), completed("done"))
	})
	t.Run("an hour later it may ask again", func(t *testing.T) {
		y.Forward(time.Hour)
		ok(t, again())
	})
	t.Run("a stuck task runs again for a person alone", func(t *testing.T) {
		stuck := y.create(maya, "coder", noStart)
		r := must(y.s.RunNow(y.ctx(), maya, stuck.ID))
		f := failure(task.PhaseError)
		f.Permanent = true
		y.finish(y.start(), f)
		_, err := y.s.RetryRun(y.ctx(), coder, r.ID)
		refused(t, err, task.CodeTaskGated, "a person")
		_, err = y.s.RunNow(y.ctx(), coder, stuck.ID)
		refused(t, err, task.CodeTaskGated, "a person")
		must(y.s.RetryRun(y.ctx(), maya, r.ID))
	})
}

// TestAStuckTaskThatMoves: who gives a stuck task to another agent decides that
// it is tried again, which is for people.
func TestAStuckTaskThatMoves(t *testing.T) {
	t.Parallel()
	stuck := func(t *testing.T) (*instance, task.ID) {
		y := newInstance(t, wakes, noApprove)
		id := y.create(planner, "coder").ID
		f := failure(task.PhaseError)
		f.Permanent = true
		y.finish(y.start(), f)
		equal(t, "failures", y.task(id).Failures, 3)
		return y, id
	}
	ways := map[string]func(y *instance, a task.Actor, id task.ID, to string) error{
		"reassign": func(y *instance, a task.Actor, id task.ID, to string) error {
			return onlyErr(y.s.Reassign(y.ctx(), a, "coder", []task.ID{id}, to, "again"))
		},
		"move": func(y *instance, a task.Actor, id task.ID, to string) error {
			y.signup(coder)
			return onlyErr(y.move(a, id, "coder", to, "again"))
		},
		"owner": func(y *instance, a task.Actor, id task.ID, to string) error {
			return onlyErr(y.s.UpdateTask(y.ctx(), a, id, task.Patch{Owner: &to}))
		},
	}
	for way, do := range ways {
		for _, to := range []string{"reviewer", "coder"} {
			t.Run(way+" by an agent to "+to+": it stays stuck", func(t *testing.T) {
				t.Parallel()
				y, id := stuck(t)
				ok(t, do(y, coder, id, to))
				equal(t, "owner", y.task(id).Owner, to)
				equal(t, "failures", y.task(id).Failures, 3)
				y.asleep(t, id)
				equal(t, "queued by a tick", must(y.s.Tick(y.ctx(), "cron")).Queued, 0)
				refused(t, onlyErr(y.s.RunNow(y.ctx(), agentActor(to), id)), task.CodeTaskGated, "a person")
			})
		}
		t.Run(way+" by a person: the new owner is woken", func(t *testing.T) {
			t.Parallel()
			y, id := stuck(t)
			ok(t, do(y, maya, id, "reviewer"))
			equal(t, "failures", y.task(id).Failures, 0)
			y.woken(t, id, "reviewer")
		})
	}
	t.Run("handed over on a page: the new owner is woken", func(t *testing.T) {
		t.Parallel()
		y, id := stuck(t)
		must(y.s.HandOver(y.ctx(), oleg, HandOver{TaskID: id, From: "coder", To: "reviewer", Comment: "try it"}))
		y.woken(t, id, "reviewer")
	})
	for name, receiver := range map[string]bool{"a program": false, "the receiver of a webhook": true} {
		t.Run("by its own run, of "+name+": that completed, which ends the row of failures", func(t *testing.T) {
			t.Parallel()
			runner := Runner{RunnerTraits: task.RunnerTraits{Receiver: receiver}}
			y := newInstance(t, wakes, noApprove, changing(&runner))
			tk := y.create(maya, "coder")
			y.finish(y.start(), failure(task.PhaseError))
			y.Forward(time.Minute)
			own := y.actor(y.start())
			must(y.move(own, tk.ID, "coder", "reviewer", "yours"))
			y.Forward(closingTime)
			equal(t, "agent", y.start().Run.Agent, "reviewer")
			equal(t, "failures", y.task(tk.ID).Failures, 0)
		})
	}
	t.Run("denied, it stays denied for its agent", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t, wakes, func(c *Config) { c.Policy = task.ApproveAlways })
		tk := y.denied(maya, "coder")
		ok(t, ways["reassign"](y, coder, tk.ID, "coder"))
		y.asleep(t, tk.ID)
		ok(t, ways["reassign"](y, maya, tk.ID, "reviewer"))
		equal(t, "state", y.openRun(tk.ID).State(), waiting)
	})
}
