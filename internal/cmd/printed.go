package cmd

import (
	"fmt"
	"io"
	"sync/atomic"
)

// printed is a stdout that records its first failure, so that a command whose
// output was lost does not exit successfully.
type printed struct {
	to  io.Writer
	err atomic.Pointer[error]
}

// Write passes the bytes on.
func (p *printed) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	if err != nil {
		p.err.CompareAndSwap(nil, &err)
	}
	return n, err
}

// failure returns nil if everything was printed.
func (p *printed) failure() error {
	if err := p.err.Load(); err != nil {
		return fmt.Errorf("done, but the answer could not be printed: %w", *err)
	}
	return nil
}
