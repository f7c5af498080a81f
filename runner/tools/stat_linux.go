package tools

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags never wait for the other end of a pipe and never take a terminal.
const openFlags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY

func identityOf(info fs.FileInfo) identity {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{device: uint64(st.Dev), inode: st.Ino, links: uint64(st.Nlink), changed: st.Ctim.Nano()} //nolint:unconvert // their types differ between machines
}
