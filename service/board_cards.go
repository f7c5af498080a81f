package service

import (
	"sync"
	"time"

	"taskyard/task"
)

// cardCache keeps pages of cards until something is published: a board that
// 200 people watch is read once a change, not 200 times. Claims run out
// without a change, so that a page is kept for a second at most.
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
