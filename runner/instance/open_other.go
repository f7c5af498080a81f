//go:build !linux

package instance

import (
	"io/fs"
	"os"
)

// Open opens a file or folder below root for reading. check sees what it is
// before it is opened, and its error is returned; so is ErrProtected for a file
// of an instance. Elsewhere than on Linux a name could still be exchanged in
// between.
func Open(root *os.Root, name string, follow bool, check func(fs.FileInfo) error) (*os.File, fs.FileInfo, error) {
	look := root.Lstat
	if follow {
		look = root.Stat
	}
	info, err := look(name)
	if err == nil {
		err = check(info)
	}
	if err == nil && Holds(info) {
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

// Identify returns no more than the time: links and devices are counted on Linux
// only, where agents run for real.
func Identify(info fs.FileInfo) Identity { return Identity{Touched: info.ModTime().UnixNano()} }
