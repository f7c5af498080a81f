package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	fsRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fsFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	fsAll   = 1<<15 - 1 // of version 3
	fsWrite = fsAll &^ fsRead
	fsWork  = fsAll &^ (unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK)
)

// Version returns the landlock version of this machine; 0: none.
func Version() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// NoNewRights ensures that no program that this thread executes gains rights.
// If the server runs as root, it drops all capabilities except access to other
// users' files, which landlock restricts. Call it before Enter and Sockets.
func NoNewRights() error {
	if os.Geteuid() == 0 {
		for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
			version, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
			if c == unix.CAP_DAC_OVERRIDE || err == nil && version == 0 {
				continue
			}
			err = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
			if err != nil && !errors.Is(err, unix.EINVAL) { // an older kernel does not know the capability
				return err
			}
		}
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// Enter confines this thread and everything that it starts to the rules.
// Processes outside can then not be traced nor, from version 6, be sent
// signals. It does not use go-landlock, because one thread is enough and the
// exact version matters.
func (r Rules) Enter() error {
	set, err := r.set()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(set) }()
	work, file := uint64(fsWork), uint64(fsFile)
	if !r.restrictsReads() {
		work, file = work&fsWrite, file&fsWrite
	}
	rules := map[uint64][]string{work: r.Writable, file: r.Devices}
	if r.restrictsReads() {
		rules[fsRead] = r.Readable
	}
	for access, paths := range rules {
		for _, path := range paths {
			err := allow(set, path, access)
			if err != nil && (access == work || !errors.Is(err, fs.ErrNotExist)) {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	if !r.ReadsFew && len(r.Hidden) > 0 {
		if err := allowBeside(set, r.Hidden); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(set), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// restrictsReads reports whether reading is restricted.
func (r Rules) restrictsReads() bool { return r.ReadsFew || len(r.Hidden) > 0 }

// set creates an empty ruleset, which denies everything that it handles.
func (r Rules) set() (int, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: fsWrite}
	if r.restrictsReads() {
		attr.Handled_access_fs = fsAll
		if r.ReadsFew && r.Version >= 5 {
			attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		}
	}
	if r.Version >= 9 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	if r.Version >= 4 && r.NoNetwork {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if r.Version >= ClosesUDP && r.NoNetwork {
		attr.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_BIND_UDP | unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP
	}
	if r.Version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return 0, errno
	}
	return int(set), nil
}

// allow adds a file, or a folder with everything below it, to a ruleset.
func allow(set int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= fsFile
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set),
		unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
