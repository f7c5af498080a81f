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

// Open opens a file or folder below root for reading. It neither blocks on a
// pipe nor acquires a controlling terminal. check examines the file before it
// is opened, and its error is returned; files of an instance return
// ErrProtected. The checked file is the one that is opened: it cannot be
// replaced in between. With follow, symbolic links at the end of the name are
// followed, inside root; otherwise check receives the link.
func Open(root *os.Root, name string, follow bool, check func(fs.FileInfo) error) (*os.File, fs.FileInfo, error) {
	for range maxLinks {
		// Such a descriptor refers to a file without opening it, so closing it
		// drops no lock.
		f, err := root.OpenFile(name, unix.O_PATH, 0)
		if err != nil {
			return nil, nil, err
		}
		info, err := f.Stat()
		if err == nil && follow && info.Mode()&fs.ModeSymlink != 0 {
			var target string
			if target, err = readLink(f); err == nil {
				_ = f.Close()
				// Do not clean the path: ".." after a link refers to the parent
				// of the link's target.
				if name = path.Dir(name) + "/" + target; path.IsAbs(target) {
					name = target // root rejects it
				}
				continue
			}
		}
		if err == nil {
			err = check(info)
		}
		if err == nil && IsProtected(info) {
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

// Identify returns the identity of a file.
func Identify(info fs.FileInfo) Identity {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}
	}
	//nolint:unconvert // their types differ between machines
	return Identity{Device: uint64(st.Dev), Inode: st.Ino, Links: uint64(st.Nlink), Touched: st.Ctim.Nano()}
}

// reopen opens the file of a descriptor, with the name that was looked up.
func reopen(f *os.File) (*os.File, error) {
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.Name(), Err: err}
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
