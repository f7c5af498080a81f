package db

import (
	"context"
	"time"
)

// verifyAtOnce is up to which size a database is checked before it serves;
// larger ones are checked while they serve, since that takes seconds.
const verifyAtOnce = 64 << 20 // bytes

// verifyAfter is when that begins: it takes a processor and reads the whole file,
// and a server that has just started is asked for its first pages.
const verifyAfter = 5 * time.Second

// Verify runs SQLite's own checks. A small database is checked before Verify
// returns; a large one in the background, and then a damage is a Fault. ctx ends the background check.
func (d *DB) Verify(ctx context.Context) error {
	if d.pg != nil {
		return nil // it has its own checks
	}
	if fileSize(d.path) <= verifyAtOnce {
		return CheckFileIntegrity(ctx, d.path)
	}
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(verifyAfter):
		}
		err := CheckFileIntegrity(ctx, d.path)
		if err != nil && ctx.Err() == nil {
			_ = d.damaged(err)
		}
	}()
	return nil
}
