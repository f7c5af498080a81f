package supervise

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, c *clock, ran, idle time.Duration) {
		t.Helper()
		if c.worked() != ran || c.idle() != idle {
			t.Errorf("got ran %v, idle %v, want %v and %v", c.worked(), c.idle(), ran, idle)
		}
	}
	for _, tt := range []struct {
		name      string
		f         func(c *clock) bool
		ran, idle time.Duration
	}{
		{"progress ends the idle time", func(*clock) bool { time.Sleep(2 * time.Second); return true }, 4 * time.Second, time.Second},
		{
			"time without progress does not count as idle", func(*clock) bool { time.Sleep(2 * time.Second); return false },
			4 * time.Second, 2 * time.Second,
		},
		{
			"a permission counts for neither", func(c *clock) bool { c.pause(func() { time.Sleep(2 * time.Second) }); return false },
			2 * time.Second, 2 * time.Second,
		},
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
	t.Run("both are paused while a permission waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newClock(time.Now())
			time.Sleep(time.Second)
			c.during(func() bool {
				c.pause(func() { time.Sleep(time.Hour); check(t, c, time.Second, 0) })
				return true
			})
		})
	})
}

func TestWorkDuringAQuestionCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now())
		asked := make(chan struct{})
		go c.pause(func() { <-asked })
		synctest.Wait()
		time.Sleep(time.Hour)
		c.during(func() bool { return false }) // no event of the agent
		if c.worked() != 0 {
			t.Errorf("waiting counted as %v", c.worked())
		}
		c.during(func() bool { return true })
		if c.worked() != maxWaitProgress {
			t.Errorf("an event after an hour of silence counted as %v, want %v", c.worked(), maxWaitProgress)
		}
		for range 30 { // the agent continues as if nobody had been asked
			time.Sleep(time.Second)
			c.during(func() bool { return true })
		}
		if want := maxWaitProgress + 30*time.Second; c.worked() != want {
			t.Errorf("half a minute of work counted as %v, want %v in total", c.worked(), want)
		}
		time.Sleep(time.Hour)
		close(asked)
		synctest.Wait()
		time.Sleep(time.Second)
		if want := maxWaitProgress + 31*time.Second; c.worked() != want || c.idle() != time.Second {
			t.Errorf("after the answer: got ran %v, idle %v, want %v and 1s", c.worked(), c.idle(), want)
		}
	})
}

// asker is a sink that can ask, by calling ask.
type asker struct {
	discardSink
	ask func(PermissionRequest) (PermissionAnswer, error)
}

func (a asker) Permit(_ context.Context, req PermissionRequest) (PermissionAnswer, error) {
	return a.ask(req)
}

func TestTimeoutsArePausedWhilePeopleAreAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		takes := map[string]time.Duration{"bash": time.Hour, "fetch": 2 * time.Hour}
		r := NewRun(Spec{}, asker{ask: func(req PermissionRequest) (PermissionAnswer, error) {
			time.Sleep(takes[req.Tool])
			return PermissionAnswer{Allow: req.Tool == "bash"}, nil
		}})
		c := r.clock
		check := func(when string, ran, idle time.Duration) {
			if c.worked() != ran || c.idle() != idle {
				t.Errorf("%s: got ran %v, idle %v, want %v and %v", when, c.worked(), c.idle(), ran, idle)
			}
		}
		ask := func(tool string) func() {
			return func() {
				a, err := r.Permit(t.Context(), PermissionRequest{Tool: tool})
				if err != nil || a.Allow != (tool == "bash") {
					t.Errorf("%s: got %+v, %v", tool, a, err)
				}
			}
		}
		time.Sleep(10 * time.Second)
		var both sync.WaitGroup
		both.Go(ask("bash"))
		both.Go(ask("fetch"))
		time.Sleep(90 * time.Minute)
		check("while one of two waits", 10*time.Second, 10*time.Second)
		both.Wait()
		time.Sleep(20 * time.Second)
		check("afterwards", 30*time.Second, 30*time.Second)
		c.grant(time.Minute)
		time.Sleep(70 * time.Second)
		check("after a granted wait", 100*time.Second, 10*time.Second)
	})
}

func TestASinkThatCannotAskIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := NewRun(Spec{}, discardSink{}).Permit(t.Context(), PermissionRequest{Tool: "bash"}); err == nil {
		t.Error("got no error")
	}
}

func TestTimeoutsArePausedDuringADelegatedRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, waits, done := newClock(time.Now()), make(chan bool), make(chan struct{})
		ended := make(chan struct{})
		go func() { defer close(ended); c.follow(waits, done) }()
		time.Sleep(time.Second)
		for _, wait := range []bool{false, true, true, false, true} {
			waits <- wait
			time.Sleep(time.Minute)
		}
		if got := c.worked(); got != time.Second+2*time.Minute {
			t.Errorf("of two minutes and a second, got %v of work", got)
		}
		if left, over := c.left(3 * time.Minute); over || left != 59*time.Second {
			t.Errorf("got %v left of three minutes, over %v", left, over)
		}
		close(done)
		<-ended
		time.Sleep(time.Minute)
		if _, over := c.left(3 * time.Minute); !over {
			t.Error("the timeout is still paused although nothing is waited for")
		}
	})
}
