package service

import (
	"context"
	"sync"

	"taskyard/db"
	"taskyard/task"
)

// Outlines is Cards, in queue order, with nothing of each task but how it is
// drawn: status, work status, what it waits for, claim, failures and open run.
func (s *Service) Outlines(ctx context.Context, a task.Actor, f task.TaskFilter) (Page, error) {
	f.Sort = ""
	if err := s.mayList(a, f); err != nil {
		return Page{}, err
	}
	if f.Limit < 1 || f.Limit > 500 {
		return Page{}, task.FieldErrorf("limit", "must be 1 to 500")
	}
	look := func() (p Page, err error) {
		err = s.db.Read(ctx, func(rx *db.Rx) error {
			p.Tasks, p.Next, err = rx.Outlines(f)
			return err
		})
		return p, err
	}
	if f.Query != "" || f.MinPriority != nil { // hardly ever asked twice
		return look()
	}
	return s.outlines.get(s.hub.Generation(), s.Now(), f, look)
}

// CardsOf returns cards by id; a task that there is not has none. Several
// callers may be given the same: they are for reading alone. Error: may not
// read.
func (s *Service) CardsOf(ctx context.Context, a task.Actor, ids []task.ID) (map[task.ID]*task.Task, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return s.byID.get(s.hub.Generation(), s.Now(), ids, func(missing []task.ID) ([]*task.Task, error) {
		return read(ctx, s, func(rx *db.Rx) ([]*task.Task, error) { return rx.TasksByID(missing) })
	})
}

// knownCards keeps cards by id as cardCache keeps pages of them.
type knownCards struct {
	mu    sync.Mutex
	gen   uint64
	since task.Time
	cards map[task.ID]*task.Task
}

// maxKnown is how many cards are kept at a time.
const maxKnown = 2000

// get returns the cards of ids as of generation gen, reading those that are
// not kept.
func (c *knownCards) get(gen uint64, now task.Time, ids []task.ID, look func([]task.ID) ([]*task.Task, error)) (map[task.ID]*task.Task, error) {
	found, missing := make(map[task.ID]*task.Task, len(ids)), []task.ID(nil)
	c.mu.Lock()
	if gen > c.gen || now.Sub(c.since) >= cardLife || now < c.since || len(c.cards) >= maxKnown {
		c.gen, c.since, c.cards = max(gen, c.gen), now, map[task.ID]*task.Task{}
	}
	for _, id := range ids {
		if t, ok := c.cards[id]; ok {
			found[id] = t
		} else {
			missing = append(missing, id)
		}
	}
	c.mu.Unlock()
	if len(missing) == 0 {
		return found, nil
	}
	list, err := look(missing)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range list {
		found[t.ID] = t
		if c.gen == gen {
			c.cards[t.ID] = t
		}
	}
	return found, nil
}
