package cmd

import (
	"fmt"
	"io"
	"sync"
)

// printed is stdout that remembers its first failure, so that a command whose
// answer did not get through does not end as if it had.
type printed struct {
	to io.Writer

	mu  sync.Mutex
	err error
}

// Write hands on.
func (p *printed) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.err == nil {
			p.err = err
		}
	}
	return n, err
}

// failure is nil when all was printed.
func (p *printed) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return nil
	}
	return fmt.Errorf("done, but the answer could not be printed: %w", p.err)
}
