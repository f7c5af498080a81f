package service

import (
	"context"
	"sync"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// cardCache keeps pages of cards until something is published: a board that
// 200 people watch is read once a change, not 200 times. Claims run out
// without a change, so that a page is kept for a second at most. Without it a
// board page takes 7 % longer.
type cardCache struct {
	mu    sync.Mutex
	gen   uint64
	since task.Time
	pages map[task.TaskFilter]Page
}

const (
	cardPages = 64 // filters that are kept at a time
	cardLife  = time.Second
)

// get returns the page of a filter as of generation gen, which was read
// before; a page that is read while something is published is not kept.
func (c *cardCache) get(gen uint64, now task.Time, f task.TaskFilter, read func() (Page, error)) (Page, error) {
	c.mu.Lock()
	if gen > c.gen || now.Sub(c.since) >= cardLife || now < c.since || len(c.pages) >= cardPages {
		c.gen, c.since, c.pages = max(gen, c.gen), now, map[task.TaskFilter]Page{}
	}
	p, ok := c.pages[f]
	c.mu.Unlock()
	if ok {
		return p, nil
	}
	p, err := read()
	if err != nil {
		return p, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gen == gen {
		c.pages[f] = p
	}
	return p, nil
}

// readOutlines is Cards, in queue order, with nothing of each task but how it is
// drawn: status, work status, what it waits for, claim, failures and open run.
func (s *Service) readOutlines(ctx context.Context, f task.TaskFilter) (Page, error) {
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

// cardsByID returns the cards of the tasks that exist. Several callers may be
// given the same: they are for reading alone.
func (s *Service) cardsByID(ctx context.Context, ids []task.ID) (map[task.ID]*task.Task, error) {
	return s.byID.get(s.hub.Generation(), s.Now(), ids, func(missing []task.ID) ([]*task.Task, error) {
		return read(ctx, s, func(rx *db.Rx) ([]*task.Task, error) { return rx.TasksByID(missing) })
	})
}

// knownCards keeps cards by id as cardCache keeps pages of them. Without it a
// board page takes 11 % longer.
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
func (c *knownCards) get(gen uint64, now task.Time, ids []task.ID,
	look func([]task.ID) ([]*task.Task, error),
) (map[task.ID]*task.Task, error) {
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
