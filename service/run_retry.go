package service

import (
	"time"

	"taskyard/task"
)

// checkRetryAllowed returns why an agent may not have a task run now although nothing is
// in the way. Runs that agents ask for are bounded as wakes are: else two
// tasks whose runs start each other would continue without a person.
func (tx *txn) checkRetryAllowed(tk *task.Task) error {
	if !tx.actor.IsAgent() {
		return nil
	}
	if tk.Failures >= tx.s.config().Attempts {
		return task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d is stuck: after its failures only a person can run it again", tk.ID)
	}
	n, oldest, err := tx.AskedSince(tk.ID, tx.actor.Name, tx.Now.Add(-time.Hour))
	if err != nil || n < tx.s.config().WakeBudget {
		return err
	}
	e := task.Errorf(task.TooMany, task.CodeRateLimited,
		"Agent %s has asked %d times within an hour for a run of task %d: wait, or ask a person", tx.actor.Name, n, tk.ID)
	e.Retry = tx.waitHour(oldest)
	return e
}

// waitHour is how many seconds pass until an hour has passed since a moment.
func (tx *txn) waitHour(since task.Time) int {
	return max(1, int((since.Add(time.Hour).Sub(tx.Now)+time.Second-1)/time.Second))
}
