package cmd

import (
	"fmt"
	"io"
	"sync/atomic"
)

// printed is stdout that remembers its first failure, so that a command whose
// answer did not get through does not end as if it had.
type printed struct {
	to  io.Writer
	err atomic.Pointer[error]
}

// Write hands on.
func (p *printed) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	if err != nil {
		p.err.CompareAndSwap(nil, &err)
	}
	return n, err
}

// failure is nil when all was printed.
func (p *printed) failure() error {
	if err := p.err.Load(); err != nil {
		return fmt.Errorf("done, but the answer could not be printed: %w", *err)
	}
	return nil
}
