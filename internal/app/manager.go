package app

import (
	"context"
	"sync"

	"taskyard/internal/sleep"
	"taskyard/internal/systemd"
)

// logNotifyError logs an error of a notification to the service manager.
func (in *Instance) logNotifyError(err error) {
	if err != nil {
		in.opt.Log.Warn("failed to notify the service manager", "error", err)
	}
}

// feedWatchdog notifies the service manager's watchdog while the job clock is
// alive, until the returned function is called. The manager restarts a server
// that hangs.
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
				in.logNotifyError(m.Watchdog())
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
