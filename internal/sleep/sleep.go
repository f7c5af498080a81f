// Package sleep waits until a time or the end of a context.
package sleep

import (
	"context"
	"time"
)

// For waits for d or until ctx ends, and reports whether ctx has not ended.
func For(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err() == nil
}
