//go:build !linux

package systemd

// monotonic returns 0: there is no systemd.
func monotonic() int64 { return 0 }
