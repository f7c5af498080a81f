package service

import (
	"testing"
	"time"

	"taskyard/task"
)

// TestRunsRequestedByAgentsAreBounded covers two tasks of one agent whose runs start
// each other, which would continue forever without a person.
func TestRunsRequestedByAgentsAreBounded(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, noApprove, func(c *Config) { c.WakeBudget = 3 })
	tk := inst.create(maya, "coder", noStart)
	again := func() error { // runs the task and retries the run
		r, err := inst.s.RunNow(inst.ctx(), coder, tk.ID)
		if err != nil {
			return err
		}
		inst.finish(inst.start(), completed("done"))
		if _, err = inst.s.RetryRun(inst.ctx(), coder, r.ID); err != nil {
			return err
		}
		inst.finish(inst.start(), completed("done"))
		return nil
	}
	t.Run("an agent may request as many runs of a task as events may wake it", func(t *testing.T) {
		ok(t, again())
		e := refused(t, again(), task.CodeRateLimited, "3 times", "within an hour", "coder")
		equal(t, "kind", e.Kind, task.TooMany)
		equal(t, "wait", e.Retry > 3500 && e.Retry <= 3600, true)
		equal(t, "runs", len(inst.runs(tk.ID)), 3)
	})
	t.Run("people are not limited", func(t *testing.T) {
		must(inst.s.RetryRun(inst.ctx(), maya, inst.runs(tk.ID)[0].ID))
		inst.finish(inst.start(), completed("done"))
	})
	t.Run("an hour later it may request runs again", func(t *testing.T) {
		inst.Forward(time.Hour)
		ok(t, again())
	})
	t.Run("only a person can run a stuck task again", func(t *testing.T) {
		stuck := inst.create(maya, "coder", noStart)
		r := must(inst.s.RunNow(inst.ctx(), maya, stuck.ID))
		f := failure(task.PhaseError)
		f.Permanent = true
		inst.finish(inst.start(), f)
		_, err := inst.s.RetryRun(inst.ctx(), coder, r.ID)
		refused(t, err, task.CodeTaskGated, "a person")
		_, err = inst.s.RunNow(inst.ctx(), coder, stuck.ID)
		refused(t, err, task.CodeTaskGated, "a person")
		must(inst.s.RetryRun(inst.ctx(), maya, r.ID))
	})
}

// TestMovingAStuckTask checks that moving a stuck task to another agent has it
// retried only if a person moves it.
func TestMovingAStuckTask(t *testing.T) {
	t.Parallel()
	stuck := func(t *testing.T) (*instance, task.ID) {
		inst := newInstance(t, wakes, noApprove)
		id := inst.create(planner, "coder").ID
		f := failure(task.PhaseError)
		f.Permanent = true
		inst.finish(inst.start(), f)
		equal(t, "failures", inst.task(id).Failures, 3)
		return inst, id
	}
	ways := map[string]func(inst *instance, a task.Actor, id task.ID, to string) error{
		"reassign": func(inst *instance, a task.Actor, id task.ID, to string) error {
			return onlyErr(inst.s.Reassign(inst.ctx(), a, "coder", []task.ID{id}, to, "again"))
		},
		"move": func(inst *instance, a task.Actor, id task.ID, to string) error {
			inst.signup(coder)
			return onlyErr(inst.move(a, id, "coder", to, "again"))
		},
		"owner": func(inst *instance, a task.Actor, id task.ID, to string) error {
			return onlyErr(inst.s.UpdateTask(inst.ctx(), a, id, task.Patch{Owner: &to}))
		},
	}
	for way, do := range ways {
		for _, to := range []string{"reviewer", "coder"} {
			t.Run(way+" by an agent to "+to+": it stays stuck", func(t *testing.T) {
				t.Parallel()
				inst, id := stuck(t)
				ok(t, do(inst, coder, id, to))
				equal(t, "owner", inst.task(id).Owner, to)
				equal(t, "failures", inst.task(id).Failures, 3)
				inst.wantNoRun(t, id)
				equal(t, "queued by a tick", must(inst.s.Tick(inst.ctx(), "cron")).Queued, 0)
				refused(t, onlyErr(inst.s.RunNow(inst.ctx(), agentActor(to), id)), task.CodeTaskGated, "a person")
			})
		}
		t.Run(way+" by a person: the new owner is woken", func(t *testing.T) {
			t.Parallel()
			inst, id := stuck(t)
			ok(t, do(inst, maya, id, "reviewer"))
			equal(t, "failures", inst.task(id).Failures, 0)
			inst.wantWoken(t, id, "reviewer")
		})
	}
	t.Run("handed over on a page: the new owner is woken", func(t *testing.T) {
		t.Parallel()
		inst, id := stuck(t)
		must(inst.s.HandOver(inst.ctx(), oleg, HandOver{TaskID: id, From: "coder", To: "reviewer", Comment: "try it"}))
		inst.wantWoken(t, id, "reviewer")
	})
	for name, receiver := range map[string]bool{"a program": false, "the receiver of a webhook": true} {
		t.Run("by its own run, of "+name+": the run completed, which resets the count of failures", func(t *testing.T) {
			t.Parallel()
			runner := Runner{RunnerTraits: task.RunnerTraits{Receiver: receiver}}
			inst := newInstance(t, wakes, noApprove, reloadableRunner(&runner))
			tk := inst.create(maya, "coder")
			inst.finish(inst.start(), failure(task.PhaseError))
			inst.Forward(time.Minute)
			own := inst.actor(inst.start())
			must(inst.move(own, tk.ID, "coder", "reviewer", "yours"))
			inst.Forward(closingTime)
			equal(t, "agent", inst.start().Run.Agent, "reviewer")
			equal(t, "failures", inst.task(tk.ID).Failures, 0)
		})
	}
	t.Run("a denied task stays denied for its agent", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t, wakes, func(c *Config) { c.Policy = task.ApproveAlways })
		tk := inst.deniedTask(maya, "coder")
		ok(t, ways["reassign"](inst, coder, tk.ID, "coder"))
		inst.wantNoRun(t, tk.ID)
		ok(t, ways["reassign"](inst, maya, tk.ID, "reviewer"))
		equal(t, "state", inst.openRun(tk.ID).State(), waiting)
	})
}
