package app

import (
	"context"
	"sync"

	"taskyard/internal/sleep"
	"taskyard/internal/systemd"
)

// tell notes that the service manager could not be told something.
func (in *Instance) tell(err error) {
	if err != nil {
		in.opt.Log.Warn("failed to notify the service manager", "error", err)
	}
}

// feedWatchdog tells the service manager that the server works, as long as the clock
// turns, until the returned function is called. A
// server that hangs is restarted by the manager.
func (in *Instance) feedWatchdog(m *systemd.Notifier, alive func() bool) (stop func()) {
	every := m.WatchdogEvery()
	if every == 0 {
		return func() {}
	}
	ctx, end := context.WithCancel(context.Background())
	var loop sync.WaitGroup
	loop.Go(func() {
		for {
			if alive() {
				in.tell(m.Watchdog())
			} else {
				in.opt.Log.Error("the clock has stopped: the watchdog is not notified")
			}
			if !sleep.For(ctx, every) {
				return
			}
		}
	})
	return func() { end(); loop.Wait() }
}
