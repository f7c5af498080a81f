package systemd

import "golang.org/x/sys/unix"

// monotonic returns the clock that systemd uses, in microseconds.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano() / 1000
}
