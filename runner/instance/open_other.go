//go:build !linux

package instance

import (
	"io/fs"
	"os"
)

// Open opens a file or folder below root for reading. check examines the file
// before it is opened, and its error is returned; files of an instance return
// ErrProtected. On systems other than Linux, the file could still be replaced
// in between.
func Open(root *os.Root, name string, follow bool, check func(fs.FileInfo) error) (*os.File, fs.FileInfo, error) {
	look := root.Lstat
	if follow {
		look = root.Stat
	}
	info, err := look(name)
	if err == nil {
		err = check(info)
	}
	if err == nil && IsProtected(info) {
		err = ErrProtected
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(info, now) {
		err = fs.ErrInvalid
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, now, nil
}

// Identify returns only the time: links and devices are used only on Linux,
// where agents run in production.
func Identify(info fs.FileInfo) Identity { return Identity{Touched: info.ModTime().UnixNano()} }
