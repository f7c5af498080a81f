//go:build !linux

package systemd

// monotonic is 0 where there is no systemd.
func monotonic() int64 { return 0 }
