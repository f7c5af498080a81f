package instance

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxLinks bounds the symbolic links at the end of a name.
const maxLinks = 40

// Open opens a file or folder below root for reading. It neither waits for the
// other end of a pipe nor takes a terminal. check sees what it is before it is
// opened, and its error is returned; so is ErrProtected for a file of an
// instance. What was checked is what is opened: the name cannot be exchanged in
// between. Symbolic links at the end of the name are followed with follow,
// inside root; else check is shown the link.
func Open(root *os.Root, name string, follow bool, check func(fs.FileInfo) error) (*os.File, fs.FileInfo, error) {
	for range maxLinks {
		// Such a descriptor names a file without opening it, and no lock is lost
		// when it is closed.
		f, err := root.OpenFile(name, unix.O_PATH, 0)
		if err != nil {
			return nil, nil, err
		}
		info, err := f.Stat()
		if err == nil && follow && info.Mode()&fs.ModeSymlink != 0 {
			var target string
			if target, err = readLink(f); err == nil {
				_ = f.Close()
				// Not cleaned: ".." after a link is above where the link leads.
				if name = path.Dir(name) + "/" + target; path.IsAbs(target) {
					name = target // root refuses it
				}
				continue
			}
		}
		if err == nil {
			err = check(info)
		}
		if err == nil && Holds(info) {
			err = ErrProtected
		}
		if err != nil {
			_ = f.Close()
			return nil, nil, err
		}
		opened, err := reopen(f)
		_ = f.Close()
		return opened, info, err
	}
	return nil, nil, &fs.PathError{Op: "open", Path: name, Err: unix.ELOOP}
}

func readLink(f *os.File) (string, error) {
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(f.Fd()), "", b)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: f.Name(), Err: err}
	}
	return string(b[:n]), nil
}

// Identify returns which file an info is about.
func Identify(info fs.FileInfo) Identity {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}
	}
	//nolint:unconvert // their types differ between machines
	return Identity{Device: uint64(st.Dev), Inode: st.Ino, Links: uint64(st.Nlink), Touched: st.Ctim.Nano()}
}

// reopen opens what a descriptor names. The file has the name that it was
// looked up by.
func reopen(f *os.File) (*os.File, error) {
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.Name(), Err: err}
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
