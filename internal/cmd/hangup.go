//go:build !windows

package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// ignoreHangup keeps a server or worker running when its terminal or the
// program that reads its log closes, which would otherwise end it with a
// signal. Each SIGHUP calls onHangup, until ctx ends. Programs that it starts
// receive the signals as usual.
func ignoreHangup(ctx context.Context, onHangup func()) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		defer signal.Stop(ch)
		for {
			select {
			case s := <-ch:
				if s == syscall.SIGHUP {
					onHangup()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
}
