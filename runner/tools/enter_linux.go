package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"taskyard/runner/tree"
)

// enter is the second stage: it takes rights from itself, one after the other,
// and becomes the command. It returns only when it could not.
func enter() (exitCode int) {
	var j job
	err := json.NewDecoder(os.NewFile(jobFD, "job")).Decode(&j)
	if err == nil {
		err = become(j)
	}
	fmt.Fprintln(os.NewFile(reportFD, "report"), err)
	return 1
}

func become(j job) error {
	if err := os.Chdir(j.Dir); err != nil {
		return err
	}
	if err := limit(j); err != nil {
		return fmt.Errorf("limits: %w", err)
	}
	// Bubblewrap needs its rights, and gives them away itself.
	if j.Landlock > 0 || j.Seccomp {
		if err := giveUpRights(); err != nil {
			return fmt.Errorf("capabilities: %w", err)
		}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	if j.Landlock > 0 {
		if err := landlock(j); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	if j.Seccomp {
		if err := filterSockets(j.Network); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	return syscall.Exec(j.Argv[0], j.Argv, os.Environ())
}

// limit sets what one process may use.
func limit(j job) error {
	tree.Yield()
	return tree.Limits{
		FileSize: maxFileSize, Data: maxMemory, OpenFiles: maxOpenFiles,
		// It counts all threads of the account; root has no such limit, for
		// whom the keeper counts.
		Threads: uint64(tree.ThreadsOf(os.Getuid()) + j.Processes),
	}.Set()
}

// giveUpRights leaves root, should the server run as root, nothing but files
// of others, which landlock confines.
func giveUpRights() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if c == unix.CAP_DAC_OVERRIDE {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err != nil && !errors.Is(err, unix.EINVAL) { // the kernel knows fewer
			return err
		}
	}
	return nil
}

const (
	fsRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fsFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	fsAll  = 1<<15 - 1 // of version 3
	fsWork = fsAll &^ (unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK)
)

// landlock confines this thread, and all that it becomes, to some files. The
// rules are added here rather than by go-landlock, because one thread is
// enough and the version is to be known exactly.
func landlock(j job) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: fsAll}
	if j.Landlock >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if j.Landlock >= 9 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	if j.Landlock >= 4 && !j.Network {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if j.Landlock >= udpLandlock && !j.Network {
		attr.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_BIND_UDP | unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP
	}
	if j.Landlock >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	defer func() { _ = unix.Close(int(set)) }()
	rules := map[uint64][]string{fsWork: j.Writable, fsRead: j.Readable, fsFile: devices}
	for access, paths := range rules {
		for _, path := range paths {
			err := allow(int(set), path, access)
			if err != nil && (access == fsWork || !errors.Is(err, fs.ErrNotExist)) {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// allow adds a file or a folder with all below it to a set of rules.
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
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
