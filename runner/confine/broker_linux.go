package confine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attribute is a system call that changes a mode or times. Its fields are the
// positions of its arguments, -1 if it has none.
type attribute struct {
	nr                            uint32
	dir, path, mode, times, flags int
	unit                          timeUnit
}

// timeUnit is the representation of times in a call.
type timeUnit int

const (
	nanoseconds timeUnit = iota
	microseconds
	wholeSeconds
)

// attributesAt are the calls that every processor has.
var attributesAt = []attribute{
	{nr: unix.SYS_FCHMOD, dir: 0, path: -1, mode: 1, times: -1, flags: -1},
	{nr: unix.SYS_FCHMODAT, dir: 0, path: 1, mode: 2, times: -1, flags: -1},
	{nr: unix.SYS_FCHMODAT2, dir: 0, path: 1, mode: 2, times: -1, flags: 3},
	{nr: unix.SYS_UTIMENSAT, dir: 0, path: 1, mode: -1, times: 2, flags: 3},
}

// Broker changes modes and times for filtered programs, only below some
// folders: landlock does not restrict these calls, and a filter cannot see
// paths. It opens the file that a program names and changes it through the
// descriptor, so that it cannot be replaced in between.
type Broker struct {
	listener int
	folders  []string // as the kernel names them
}

// notification and response are the kernel's structures.
type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// HasBroker reports whether a Broker works here: the kernel supports
// notifications, no other listener is installed, and it may read the paths that
// programs pass.
var HasBroker = sync.OnceValue(func() bool {
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope") // if it is missing, nothing is restricted
	if s := strings.TrimSpace(string(scope)); !HasSeccomp() || s == "3" || s == "2" && os.Geteuid() != 0 {
		return false
	}
	works := make(chan bool)
	go func() {
		runtime.LockOSThread() // the thread ends with this function
		fd, err := -1, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			fd, err = enter([]unix.SockFilter{ret(permit)}, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
		}
		if err == nil {
			_ = unix.Close(fd)
		}
		works <- err == nil
	}()
	return <-works
})

// NewBroker returns the broker of a listener, for everything below the folders.
// Missing folders are skipped.
func NewBroker(listener int, folders []string) *Broker {
	b := &Broker{listener: listener}
	for _, folder := range folders {
		if fd, err := unix.Open(folder, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
			if name, err := fdPath(fd); err == nil {
				b.folders = append(b.folders, name)
			}
			_ = unix.Close(fd)
		}
	}
	return b
}

// fdPath returns the kernel's path of an open file.
func fdPath(fd int) (string, error) { return os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)) }

// Serve answers requests until no filtered program is left or the listener
// fails.
func (b *Broker) Serve() {
	defer func() { _ = unix.Close(b.listener) }()
	for {
		poll := []unix.PollFd{{Fd: int32(b.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			return
		}
		var n notification
		if err := b.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != 0 {
			if err == unix.EINTR || err == unix.ENOENT { // the caller has ended
				continue
			}
			return
		}
		answer := response{id: n.id, errno: -int32(b.change(&n))}
		_ = b.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer)) // the caller may have ended
	}
}

func (b *Broker) ioctl(what uint, data unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(b.listener), uintptr(what), uintptr(data))
	return errno
}

// change performs the call of a program, and returns its error.
func (b *Broker) change(n *notification) unix.Errno {
	for _, a := range attributes {
		if int32(a.nr) != n.nr {
			continue
		}
		times, errno := a.readTimes(n)
		if errno != 0 {
			return errno
		}
		fd, errno := a.open(n)
		if errno != 0 {
			return errno
		}
		defer func() { _ = unix.Close(fd) }()
		// Only now is it certain that the PID still belongs to the caller.
		if errno := b.ioctl(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)); errno != 0 {
			return unix.EPERM
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return toErrno(err)
		}
		if !b.isWritable(fd) || os.Geteuid() == 0 && st.Uid != 0 && (a.mode >= 0 || times != nil) {
			return unix.EPERM // root's programs have no rights over other users' files
		}
		if a.mode >= 0 {
			return setMode(fd, uint32(n.args[a.mode])&0o7777, st.Mode)
		}
		return setTimes(fd, times)
	}
	return unix.ENOSYS
}

// isWritable reports whether an open file is below one of the folders. Programs
// cannot move files into them from outside, so the path is sufficient.
func (b *Broker) isWritable(fd int) bool {
	name, err := fdPath(fd)
	if err != nil {
		return false
	}
	for _, folder := range b.folders {
		if name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/") {
			return true
		}
	}
	return false
}

// setMode rejects setuid and setgid bits, but keeps the setgid bit of a folder.
func setMode(fd int, mode, before uint32) unix.Errno {
	kept := uint32(0)
	if before&unix.S_IFMT == unix.S_IFDIR {
		kept = before & unix.S_ISGID
	}
	if mode&setIDs&^kept != 0 {
		return unix.EPERM
	}
	if before&unix.S_IFMT == unix.S_IFLNK {
		return unix.EOPNOTSUPP
	}
	return toErrno(unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode))
}

func setTimes(fd int, times []unix.Timespec) unix.Errno {
	if times == nil {
		times = []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	}
	return toErrno(unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH))
}

// readTimes returns the times in the arguments of a call; nil means now.
func (a attribute) readTimes(n *notification) ([]unix.Timespec, unix.Errno) {
	if a.times < 0 || n.args[a.times] == 0 {
		return nil, 0
	}
	var raw [4]int64
	size := 32
	if a.unit == wholeSeconds {
		size = 16
	}
	b, errno := readMemory(n.pid, n.args[a.times], size)
	if errno != 0 {
		return nil, errno
	}
	_ = binary.Read(bytes.NewReader(b), binary.LittleEndian, raw[:size/8]) // it has that length
	switch {
	case a.unit == wholeSeconds:
		raw = [4]int64{raw[0], 0, raw[1], 0}
	case a.unit == microseconds && (raw[1] < 0 || raw[1] >= 1e6 || raw[3] < 0 || raw[3] >= 1e6):
		return nil, unix.EINVAL
	case a.unit == microseconds:
		raw[1], raw[3] = raw[1]*1000, raw[3]*1000
	}
	return []unix.Timespec{{Sec: raw[0], Nsec: raw[1]}, {Sec: raw[2], Nsec: raw[3]}}, 0
}

// open opens the file that a call names, as the calling program sees it,
// without side effects.
func (a attribute) open(n *notification) (int, unix.Errno) {
	proc := "/proc/" + strconv.Itoa(int(n.pid))
	flags, how := 0, unix.O_PATH|unix.O_CLOEXEC
	if a.flags >= 0 {
		flags = int(int32(n.args[a.flags]))
	}
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return -1, unix.EINVAL
	}
	dir := proc + "/cwd"
	if a.dir >= 0 {
		if fd := int32(n.args[a.dir]); fd != unix.AT_FDCWD {
			dir = proc + "/fd/" + strconv.Itoa(int(fd))
		}
	}
	name := ""
	if a.path >= 0 && (n.args[a.path] != 0 || a.times < 0) {
		var errno unix.Errno
		if name, errno = readPath(n.pid, n.args[a.path]); errno != 0 {
			return -1, errno
		}
		if name == "" && flags&unix.AT_EMPTY_PATH == 0 {
			return -1, unix.ENOENT
		}
	}
	if name == "" { // the file of dir itself
		return opened(unix.Open(dir, how, 0))
	}
	if flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		how |= unix.O_NOFOLLOW
	}
	if path.IsAbs(name) {
		return opened(unix.Open(resolveSelf(name, proc), how, 0))
	}
	at, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, toErrno(err)
	}
	defer func() { _ = unix.Close(at) }()
	return opened(unix.Openat(at, name, how, 0))
}

// resolveSelf resolves /proc/self in a path to the calling process.
func resolveSelf(name, proc string) string {
	for own, its := range map[string]string{"/proc/self/": proc + "/", "/proc/thread-self/": proc + "/", "/dev/fd/": proc + "/fd/"} {
		if rest, ok := strings.CutPrefix(name, own); ok {
			return its + rest
		}
	}
	return name
}

// opened returns EBADF for a bad descriptor, which is not what opening the file
// in /proc returns.
func opened(fd int, err error) (int, unix.Errno) { return fd, toErrno(err) }

func toErrno(err error) unix.Errno {
	if err == nil {
		return 0
	}
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EPERM
}

// readPath reads a path from another process. It reads at most one page at a
// time, because the next page may not be mapped.
func readPath(pid uint32, at uint64) (string, unix.Errno) {
	page := uint64(os.Getpagesize())
	var text []byte
	for len(text) < unix.PathMax {
		b, errno := readMemory(pid, at, int(page-at%page))
		if errno != 0 {
			return "", errno
		}
		if end := bytes.IndexByte(b, 0); end >= 0 {
			return string(append(text, b[:end]...)), 0
		}
		text, at = append(text, b...), at+uint64(len(b))
	}
	return "", unix.ENAMETOOLONG
}

func readMemory(pid uint32, at uint64, size int) ([]byte, unix.Errno) {
	b := make([]byte, size)
	n, err := unix.ProcessVMReadv(int(pid), []unix.Iovec{{Base: &b[0], Len: uint64(size)}},
		[]unix.RemoteIovec{{Base: uintptr(at), Len: size}}, 0)
	switch {
	case err != nil:
		return nil, toErrno(err)
	case n != size:
		return nil, unix.EFAULT
	}
	return b, 0
}
