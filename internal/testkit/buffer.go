package testkit

import (
	"bytes"
	"sync"
)

// Buffer stores what is written to it: a log, or the output of a program. It is
// safe for concurrent use.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Tail returns the last n bytes, or all if there are fewer.
func (b *Buffer) Tail(n int) string {
	text := b.String()
	return text[max(0, len(text)-n):]
}

// Take returns what was written since its last call.
func (b *Buffer) Take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.text.Reset()
	return b.text.String()
}
