package task

import (
	"context"
	"time"
)

// Sleep waits while ctx lasts, and reports whether it lasts still.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err() == nil
}
