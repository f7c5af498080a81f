package client

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
)

// ErrInterrupted ends a read that was interrupted.
var ErrInterrupted = errors.New("interrupted while waiting for input")

// ReaderUntil returns a reader that reads from r until ctx ends, so that Ctrl-C can
// stop waiting for a terminal or a pipe. Data that r returns afterwards is
// lost.
func ReaderUntil(ctx context.Context, r io.Reader) io.Reader { return &contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (u *contextReader) Read(p []byte) (int, error) {
	type read struct {
		b   []byte
		err error
	}
	done := make(chan read, 1)
	go func() {
		b := make([]byte, len(p)) // p belongs to the caller again as soon as ctx ends
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

// OpenUntil opens a file for reading as ReaderUntil does. A pipe without a writer is
// empty.
func OpenUntil(ctx context.Context, name string) (io.ReadCloser, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{ReaderUntil(ctx, f), f}, nil
}
