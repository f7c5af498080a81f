// Package escape attempts, in tests, what a confined program must not be able
// to do to the server that started it.
package escape

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Arg is the first argument that makes a test binary try all escapes. The PID
// of the server and its data folder follow. The attempts run in the workspace.
const Arg = "__escape"

// target is the server under attack.
type target struct {
	pid  int
	data string // a folder that contains the file db
	db   string
}

func call(nr uintptr, a ...uintptr) error {
	a = append(a, make([]uintptr, 6-len(a))...)
	if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func ptr(s string) uintptr {
	b, _ := unix.BytePtrFromString(s)
	return uintptr(unsafe.Pointer(b))
}

// byPath calls try with a path-only descriptor of a file, which can be neither
// read nor written.
func byPath(file string, try func(fd int) error) error {
	fd, err := unix.Open(file, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return try(fd)
}

var attempts = []struct {
	name string
	try  func(t target) error
}{
	{"limit the server", func(t target) error {
		return unix.Prlimit(t.pid, unix.RLIMIT_MSGQUEUE, &unix.Rlimit{Cur: 4096, Max: 4096}, nil)
	}},
	{"lower its priority", func(t target) error { return unix.Setpriority(unix.PRIO_PROCESS, t.pid, 1) }},
	{"take processors from it", func(t target) error {
		var set unix.CPUSet
		set.Set(0)
		return unix.SchedSetaffinity(t.pid, &set)
	}},
	{"change its scheduler", func(t target) error {
		zero := 0
		return call(unix.SYS_SCHED_SETSCHEDULER, uintptr(t.pid), unix.SCHED_BATCH, uintptr(unsafe.Pointer(&zero)))
	}},
	{"change its scheduler's parameters", func(t target) error {
		zero := 0
		return call(unix.SYS_SCHED_SETPARAM, uintptr(t.pid), uintptr(unsafe.Pointer(&zero)))
	}},
	{"change its scheduling attributes", func(t target) error {
		return unix.SchedSetAttr(t.pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH}, 0)
	}},
	{"lower its priority for disks", func(t target) error { return call(unix.SYS_IOPRIO_SET, 1, uintptr(t.pid), 2<<13|7) }},
	{"send it a signal", func(t target) error { return unix.Kill(t.pid, 0) }},
	{"trace it", func(t target) error { return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(t.pid)) }},
	{"read its memory", func(t target) error {
		var b [8]byte
		_, err := unix.ProcessVMReadv(t.pid, []unix.Iovec{{Base: &b[0], Len: 8}},
			[]unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&attemptsAddress)), Len: 8}}, 0)
		return err
	}},
	{"take a file of it", func(t target) error {
		fd, err := unix.PidfdOpen(t.pid, 0)
		if err == nil {
			_, err = unix.PidfdGetfd(fd, 0, 0)
		}
		return err
	}},
	{"read its environment", func(t target) error { return opens("/proc/" + strconv.Itoa(t.pid) + "/environ") }},
	{"have it killed first", func(t target) error {
		return os.WriteFile("/proc/"+strconv.Itoa(t.pid)+"/oom_score_adj", []byte("1000"), 0)
	}},
	{"move its memory", func(t target) error { return call(unix.SYS_MIGRATE_PAGES, uintptr(t.pid)) }},

	{"open the data folder to all", func(t target) error { return unix.Chmod(t.data, 0o777) }},
	{"open the database to all", func(t target) error { return unix.Fchmodat(unix.AT_FDCWD, t.db, 0o666, 0) }},
	{"by a relative path", func(t target) error {
		dir, err := unix.Open("..", unix.O_PATH, 0)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(filepath.Dir(mustGetwd()), t.db)
		if err != nil {
			return err
		}
		return unix.Fchmodat(dir, rel, 0o666, 0)
	}},
	{"by a symbolic link", func(t target) error {
		_ = os.Remove("to-data")
		if err := os.Symlink(t.data, "to-data"); err != nil {
			return err
		}
		return unix.Chmod("to-data/db", 0o666)
	}},
	{"by a file below /proc", func(t target) error {
		return byPath(t.db, func(fd int) error { return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o666) })
	}},
	{"by an empty path", func(t target) error {
		return byPath(t.db, func(fd int) error {
			return call(unix.SYS_FCHMODAT2, uintptr(fd), ptr(""), 0o666, unix.AT_EMPTY_PATH)
		})
	}},
	{"set its times", func(t target) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, t.db, []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0)
	}},
	{"set its times by an empty path", func(t target) error {
		return byPath(t.db, func(fd int) error {
			return unix.UtimesNanoAt(fd, "", []unix.Timespec{{Sec: 1}, {Sec: 1}}, unix.AT_EMPTY_PATH)
		})
	}},
	{"give it away", func(t target) error { return unix.Chown(t.db, 65533, 65533) }},
	{"give it an extended attribute", func(t target) error { return unix.Setxattr(t.db, "user.x", []byte("x"), 0) }},
	{"give it flags", func(t target) error { return call(unix.SYS_FILE_SETATTR, 0, ptr(t.db), 0, 0, 0) }},
	{"move the data folder away", func(t target) error { return os.Rename(t.data, t.data+"-2") }},
	{"read the database", func(t target) error { return opens(t.db) }},
	{"empty the database", func(t target) error { return unix.Truncate(t.db, 0) }},

	{"set the user ID of a file", func(target) error { return errors.Join(os.WriteFile("f", nil, 0o700), unix.Chmod("f", 0o4755)) }},
	{"set the group ID of an open file", func(target) error {
		f, err := os.Create("f")
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.Fchmod(int(f.Fd()), 0o2755)
	}},
	{"make a file with a user ID", func(target) error { return makes(unix.Openat(unix.AT_FDCWD, "g", unix.O_CREAT|unix.O_WRONLY, 0o4755)) }},
	{"make one by a description", func(target) error {
		return makes(unix.Openat2(unix.AT_FDCWD, "h", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755}))
	}},
	{"make a node with a user ID", func(target) error { return unix.Mknodat(unix.AT_FDCWD, "n", unix.S_IFREG|0o4755, 0) }},

	{"make a namespace of users", func(target) error { return unix.Unshare(unix.CLONE_NEWUSER | unix.CLONE_NEWNS) }},
	{"make a namespace of mounts", func(target) error { return unix.Unshare(unix.CLONE_NEWNS) }},
	{"start a program in namespaces", func(target) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		return cmd.Run()
	}},
	{"start one by a description", func(target) error { return call(unix.SYS_CLONE3, 0, 0) }},
	{"enter a namespace", func(target) error {
		fd, err := unix.Open("/proc/self/ns/net", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, 0)
	}},
	{"mount", func(target) error { return unix.Mount("x", ".", "tmpfs", 0, "") }},
	{"mount in the new way", func(target) error { return makes(unix.Fsopen("tmpfs", 0)) }},
	{"change the root", func(target) error { return unix.Chroot(".") }},
	{"exchange the root", func(target) error { return unix.PivotRoot(".", ".") }},
	{"go around the filter", func(target) error { return call(unix.SYS_IO_URING_SETUP, 1, 0) }},
	{"load a program into the kernel", func(target) error { return call(unix.SYS_BPF, 0, 0, 0) }},
	{"measure", func(target) error { return call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0) }},
	{"handle faults", func(target) error { return call(unix.SYS_USERFAULTFD, 1) }},
	{"use the account's keys", func(target) error { return call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(3), 0) }},
}

var attemptsAddress [8]byte

func mustGetwd() string {
	dir, _ := os.Getwd()
	return dir
}

func opens(file string) error {
	f, err := os.Open(file)
	if err == nil {
		_ = f.Close()
	}
	return err
}

func makes(fd int, err error) error {
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// refusals are the errors of blocked calls. Any other error means that the call
// was executed.
var refusals = []error{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EOPNOTSUPP, unix.EROFS, unix.EXDEV, unix.ENOENT, unix.ESRCH}

// Main makes all attempts and prints the result on its first line: "47 refused"
// or "escaped: …".
func Main(args []string, out io.Writer) {
	pid, _ := strconv.Atoi(args[0])
	t := target{pid: pid, data: args[1], db: filepath.Join(args[1], "db")}
	var through []string
	for _, a := range attempts {
		err := a.try(t)
		if !slices.ContainsFunc(refusals, func(r error) bool { return errors.Is(err, r) }) {
			through = append(through, fmt.Sprintf("%s (%v)", a.name, err))
		}
	}
	if len(through) > 0 {
		fmt.Fprintln(out, "escaped: "+strings.Join(through, ", "))
		return
	}
	fmt.Fprintln(out, Refused())
}

// Refused returns what Main prints if all attempts were blocked.
func Refused() string { return strconv.Itoa(len(attempts)) + " refused" }

// Data creates a data folder. check verifies at the end that neither it nor
// this process was affected.
func Data(t testing.TB) (data string, check func()) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	if err := errors.Join(os.MkdirAll(data, 0o700), os.WriteFile(filepath.Join(data, "db"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	state := func() string {
		var text strings.Builder
		for _, name := range []string{data, filepath.Join(data, "db")} {
			var st unix.Stat_t
			err := unix.Stat(name, &st)
			fmt.Fprintln(&text, st.Mode, st.Uid, st.Gid, st.Mtim, st.Ctim, err)
		}
		var limit unix.Rlimit
		_ = unix.Getrlimit(unix.RLIMIT_MSGQUEUE, &limit)
		priority, _ := unix.Getpriority(unix.PRIO_PROCESS, 0)
		var set unix.CPUSet
		_ = unix.SchedGetaffinity(os.Getpid(), &set)
		fmt.Fprintln(&text, limit, priority, set.Count())
		return text.String()
	}
	before := state()
	return data, func() {
		t.Helper()
		if after := state(); after != before {
			t.Errorf("the server and its data folder were\n%sand are\n%s", before, after)
		}
	}
}

// AsNobody runs the calling test again as an unprivileged user if this process
// is root, from a copy of the test binary.
func AsNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	name := t.Name()
	t.Run("as a plain user", func(t *testing.T) {
		dir, err := os.MkdirTemp("", "taskyard-nobody-") //nolint:usetesting // the folders of t.TempDir are closed to others
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		binary := filepath.Join(dir, "bin", "test")
		text, err := os.ReadFile("/proc/self/exe")
		if err == nil {
			// A program that another test starts at the same time would inherit
			// the open file until its exec, and a file that is open for writing
			// cannot be executed.
			syscall.ForkLock.RLock()
			err = errors.Join(os.Mkdir(filepath.Dir(binary), 0o755), os.Chmod(filepath.Dir(binary), 0o755),
				os.WriteFile(binary, text, 0o755), os.Chmod(binary, 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o777),
				os.Chmod(filepath.Join(dir, "tmp"), 0o777), os.Chmod(dir, 0o755))
			syscall.ForkLock.RUnlock()
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), binary, "-test.run=^"+name+"$", "-test.v")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"), "HOME="+filepath.Join(dir, "tmp"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, Pdeathsig: syscall.SIGKILL}
		runtime.LockOSThread() // the parent death signal is bound to it
		defer runtime.UnlockOSThread()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
