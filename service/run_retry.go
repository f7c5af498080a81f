package service

import (
	"time"

	"taskyard/task"
)

// checkRetryAllowed tells why an agent may not have a task run now although nothing is
// in the way. Runs that agents ask for are bounded as wakes are: else two
// tasks whose runs start each other would continue without a person.
func (t *tx) checkRetryAllowed(k *task.Task) error {
	if !t.actor.IsAgent() {
		return nil
	}
	if k.Failures >= t.s.cfg.Attempts {
		return task.Errorf(task.Conflict, task.CodeTaskGated, "Task %d is stuck: after its failures only a person may have it run again", k.ID)
	}
	n, oldest, err := t.AskedSince(k.ID, t.actor.Name, t.Now.Add(-time.Hour))
	if err != nil || n < t.s.cfg.WakeBudget {
		return err
	}
	e := task.Errorf(task.TooMany, task.CodeRateLimited, "Agent %s has asked %d times within an hour for a run of task %d: wait, or ask a person", t.actor.Name, n, k.ID)
	e.Retry = t.waitHour(oldest)
	return e
}

// waitHour is how many seconds pass until an hour has passed since a moment.
func (t *tx) waitHour(since task.Time) int {
	return max(1, int((since.Add(time.Hour).Sub(t.Now)+time.Second-1)/time.Second))
}
