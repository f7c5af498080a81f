package workspace

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags follow no link, never wait for the other end of a pipe and never
// take a terminal.
const openFlags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_NOCTTY

// identityOf tells files apart, and when one was last touched: unlike the time
// of its contents, that of its attributes cannot be set back.
func identityOf(info fs.FileInfo) (device, inode uint64, touched int64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 0
	}
	return uint64(st.Dev), st.Ino, st.Ctim.Nano() //nolint:unconvert // its type differs between machines
}
