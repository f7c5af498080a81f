package db

import (
	"context"
	"fmt"
)

// verifyAtOnce is up to which size a database is checked before it serves;
// larger ones are checked while they serve, since that takes seconds.
const verifyAtOnce = 64 << 20 // bytes

// Verify runs SQLite's own checks. A small database is checked before Verify
// returns; a large one in the background, and then a damage makes Damaged
// return it. ctx ends the background check.
func (d *DB) Verify(ctx context.Context) error {
	if fileSize(d.path) <= verifyAtOnce {
		return CheckFileIntegrity(ctx, d.path)
	}
	go func() {
		err := CheckFileIntegrity(ctx, d.path)
		if err != nil && ctx.Err() == nil {
			d.log.Error("the database is damaged; restore a backup", "error", err)
			d.damage.Store(&err)
		}
	}()
	return nil
}

// Damaged returns what Verify found, or nil.
func (d *DB) Damaged() error {
	if err := d.damage.Load(); err != nil {
		return fmt.Errorf("damaged: %w", *err)
	}
	return nil
}
