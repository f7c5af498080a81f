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
