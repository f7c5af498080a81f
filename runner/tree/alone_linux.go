package tree

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// signalLandlock is the first landlock version that can restrict signals.
const signalLandlock = 6

// pastLimits are the capabilities with which root could bypass these
// restrictions: reading other processes, and raising limits.
var pastLimits = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_PERFMON, unix.CAP_SYS_RESOURCE}

// Isolate isolates this thread, and everything that it starts, from other
// programs of the account: executing a file (sudo, su) grants no rights, since
// the server could not kill such a process, and, from Linux 6.12 on, no signal
// reaches a process outside, and neither memory nor environment of one can be
// read. So the program cannot kill its keeper or steal another run's token.
func Isolate() error {
	for _, c := range pastLimits {
		// Dropping fails for non-root users, and for root without all
		// capabilities.
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || version < signalLandlock {
		return nil
	}
	attr := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_SIGNAL}
	// Omit the newer fields, which are not used, for older kernels.
	size := unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return errno
	}
	defer func() { _ = unix.Close(int(set)) }()
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// Hide protects this process's files in /proc, including its pipes, from
// programs of the same account.
func Hide() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
