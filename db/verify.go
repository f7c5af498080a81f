package db

import (
	"context"
)

// verifyAtOnce is up to which size a database is checked before it serves;
// larger ones are checked while they serve, since that takes seconds.
const verifyAtOnce = 64 << 20 // bytes

// Verify runs SQLite's own checks. A small database is checked before Verify
// returns; a large one in the background, and then a damage is a Fault. ctx ends the background check.
func (d *DB) Verify(ctx context.Context) error {
	if fileSize(d.path) <= verifyAtOnce {
		return CheckFileIntegrity(ctx, d.path)
	}
	go func() {
		err := CheckFileIntegrity(ctx, d.path)
		if err != nil && ctx.Err() == nil {
			_ = d.damaged(err)
		}
	}()
	return nil
}
