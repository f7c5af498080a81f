package runner

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	check := func(t *testing.T, c *clock, ran, idle time.Duration) {
		t.Helper()
		if c.ran() != ran || c.idle() != idle {
			t.Errorf("ran %v, idle %v, want %v and %v", c.ran(), c.idle(), ran, idle)
		}
	}
	for _, tt := range []struct {
		name      string
		f         func(c *clock) bool
		ran, idle time.Duration
	}{
		{"progress ends an idle time", func(*clock) bool { time.Sleep(2 * time.Second); return true }, 4 * time.Second, time.Second},
		{"what is no progress is left out of it", func(*clock) bool { time.Sleep(2 * time.Second); return false }, 4 * time.Second, 2 * time.Second},
		{"a permission is left out of both", func(c *clock) bool { c.stand(func() { time.Sleep(2 * time.Second) }); return false }, 2 * time.Second, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClock(time.Now())
				time.Sleep(time.Second)
				check(t, c, time.Second, time.Second)
				c.during(func() bool { return tt.f(c) })
				time.Sleep(time.Second)
				check(t, c, tt.ran, tt.idle)
			})
		})
	}
	t.Run("both stand while a permission waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newClock(time.Now())
			time.Sleep(time.Second)
			c.during(func() bool {
				c.stand(func() { time.Sleep(time.Hour); check(t, c, time.Second, 0) })
				return true
			})
		})
	})
}
