package tools

import (
	"io/fs"
	"syscall"
)

func fileIdentity(info fs.FileInfo) identity {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{
		device: uint64(st.Dev), inode: st.Ino, links: uint64(st.Nlink), //nolint:unconvert // their types differ between machines
		changed: st.Ctim.Nano(),
	}
}
