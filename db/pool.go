package db

import (
	"context"
	"errors"
	"sync"
)

// pool holds the read-only connections. The one that was given back last is
// taken first: after a commit each must read its pages again, so that one warm
// connection answers a page that asks many things sooner than many do.
type pool struct {
	places chan struct{} // one for each connection that may be out
	mu     sync.Mutex
	idle   []*conn
	open   func() (*conn, error)
}

func newPool(size int, open func() (*conn, error)) *pool {
	return &pool{places: make(chan struct{}, size), open: open}
}

// take returns a connection as soon as one is free; give it back. Errors: that
// of the context, of opening, or errClosed once stop is closed.
func (p *pool) take(ctx context.Context, stop <-chan struct{}) (*conn, error) {
	select {
	case p.places <- struct{}{}:
	case <-stop:
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	c, err := p.open()
	if err != nil {
		<-p.places
		return nil, err
	}
	return c, nil
}

func (p *pool) give(c *conn) {
	p.mu.Lock()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	<-p.places
}

// shut waits until every connection is back, and closes them all.
func (p *pool) shut() (err error) {
	for range cap(p.places) {
		p.places <- struct{}{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		err = errors.Join(err, c.Close())
	}
	p.idle = nil
	return err
}
