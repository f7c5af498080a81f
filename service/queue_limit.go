package service

import (
	"sync"

	"taskyard/task"
)

// recountAfter is how many creates an agent's queue may get between counts.
const recountAfter = 1000

// queueLimiter refuses tasks for an agent whose queue is full. Counting a long
// queue takes milliseconds, so it counts now and then and adds up between.
type queueLimiter struct {
	mu    sync.Mutex
	known map[string]*queueLen
}

type queueLen struct{ n, since int }

// full reports whether the owner's queue holds limit open tasks or more; count
// is asked for the truth before anybody is refused.
func (g *queueLimiter) full(owner string, limit int, count func(string) (int, error)) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.known[owner]
	if q == nil || q.since >= recountAfter || q.n >= limit {
		n, err := count(owner)
		if err != nil {
			return false, err
		}
		q = &queueLen{n: n}
		g.known[owner] = q
	}
	if q.n >= limit {
		return true, nil
	}
	q.n++
	q.since++
	return false, nil
}

func (tx *txn) checkQueueLimit(owner string) error {
	full, err := tx.s.flood.full(owner, tx.s.config().QueueLimit, func(o string) (int, error) { return tx.OpenCount(o, "") })
	if err != nil || !full {
		return err
	}
	e := task.Errorf(task.TooMany, task.CodeQueueFull, "The queue of %s has %d open tasks: wait until some are done",
		owner, tx.s.config().QueueLimit)
	e.Retry = 60
	return e
}
