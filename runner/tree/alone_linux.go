package tree

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// signalLandlock is the first version of landlock that can confine signals.
const signalLandlock = 6

// pastLimits are the rights by which root would pass by what is taken here:
// to read of others, and to raise limits.
var pastLimits = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_PERFMON, unix.CAP_SYS_RESOURCE}

// Alone takes from this thread, and from all that it starts, the way to other
// programs of the account: nothing gains rights by running a file (sudo, su),
// which the server could not kill, and, from Linux 6.12 on, no signal reaches a
// process outside, and neither memory nor environment of one can be read. So
// the program cannot kill its keeper or take another run's token.
func Alone() error {
	for _, c := range pastLimits {
		// Who may not drop one is not root, or not one with all rights.
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
	// What newer kernels know besides is not used, and left out for older ones.
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

// Hide keeps the files of this process below /proc, its pipes among them, from
// programs of the same account.
func Hide() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
