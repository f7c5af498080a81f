package workspace

import (
	"io/fs"
	"syscall"
)

// fileIdentity returns the identity of a file and when it was last touched: unlike
// the time of its contents, that of its attributes cannot be set back.
func fileIdentity(info fs.FileInfo) (device, inode uint64, touched int64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 0
	}
	return uint64(st.Dev), st.Ino, st.Ctim.Nano() //nolint:unconvert // its type differs between machines
}
