// Package sleep waits for as long as it is wanted.
package sleep

import (
	"context"
	"time"
)

// For waits for d or until ctx ends, and reports whether ctx still lasts.
func For(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err() == nil
}
