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
	places chan struct{} // one for each connection that is out
	mu     sync.Mutex
	idle   []*conn
}

// newPool opens all connections of the pool.
func newPool(size int, open func() (*conn, error)) (*pool, error) {
	p := &pool{places: make(chan struct{}, size)}
	for range size {
		c, err := open()
		if err != nil {
			return nil, errors.Join(err, p.shut())
		}
		p.idle = append(p.idle, c)
	}
	return p, nil
}

// take returns a connection as soon as one is free; give it back. Errors: that
// of the context, or errClosed once stop is closed.
func (p *pool) take(ctx context.Context, stop <-chan struct{}) (*conn, error) {
	select {
	case p.places <- struct{}{}:
	case <-stop:
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
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
