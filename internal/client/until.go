package client

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
)

// ErrInterrupted ends the reading of what nobody gives.
var ErrInterrupted = errors.New("interrupted while waiting for input")

// Until reads from r until ctx ends: whoever waits for a terminal or a pipe
// can be stopped by Ctrl-C. What r gives afterwards is lost.
func Until(ctx context.Context, r io.Reader) io.Reader { return &until{ctx, r} }

type until struct {
	ctx context.Context
	r   io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	type read struct {
		b   []byte
		err error
	}
	done := make(chan read, 1)
	go func() {
		b := make([]byte, len(p)) // p is the caller's again as soon as ctx ends
		n, err := u.r.Read(b)
		done <- read{b[:n], err}
	}()
	select {
	case got := <-done:
		return copy(p, got.b), got.err
	case <-u.ctx.Done():
		return 0, ErrInterrupted
	}
}

// OpenUntil opens a file as Until reads it. A pipe to which nobody writes is
// empty.
func OpenUntil(ctx context.Context, name string) (io.ReadCloser, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{Until(ctx, f), f}, nil
}
