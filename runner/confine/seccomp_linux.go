package confine

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filterArch is the kernel's name of a processor, 0 when no filter is written
// for it.
func filterArch(arch string) uint32 {
	switch arch {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	}
	return 0
}

// Offsets in struct seccomp_data; both processors are little-endian.
const (
	offNr   = 0
	offArch = 4
	offArg0 = 16
	offArg1 = 24
)

const (
	x32Bit     = 0x40000000 // the second numbering of system calls on amd64
	socketKind = 0xf        // of the second argument of socketpair
)

// HasSeccomp tells whether Sockets works here: a filter can refuse a system
// call with an error, and one is written for this processor.
func HasSeccomp() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0 && filterArch(runtime.GOARCH) != 0
}

// Sockets forbids this thread, and all that it becomes, every socket but
// those of the network, and these too unless network. Landlock alone would
// leave UDP, multipath TCP and the sockets of local daemons, docker's among
// them, open. Pairs of stream sockets, which lead nowhere, stay. It comes after
// NoNewRights.
func Sockets(network bool) error {
	const (
		deny   = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
		absent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	ld := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	// unless goes on when the loaded value is k, else it passes over n lines.
	unless := func(k uint32, n uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: n, K: k}
	}
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	prog := []unix.SockFilter{
		ld(offArch),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: filterArch(runtime.GOARCH)},
		ret(unix.SECCOMP_RET_KILL_PROCESS),
		ld(offNr),
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jf: 1, K: x32Bit},
		ret(absent),
		// It makes sockets, past any filter of system calls.
		unless(unix.SYS_IO_URING_SETUP, 1), ret(absent),
		unless(unix.SYS_SOCKETPAIR, 7), ld(offArg1),
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: socketKind},
		unless(unix.SOCK_STREAM, 1), ret(unix.SECCOMP_RET_ALLOW), unless(unix.SOCK_SEQPACKET, 1), ret(unix.SECCOMP_RET_ALLOW), ret(deny),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: unix.SYS_SOCKET},
		ret(unix.SECCOMP_RET_ALLOW),
	}
	if network {
		prog = append(prog, ld(offArg0))
		for _, family := range []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK} {
			prog = append(prog, unless(family, 1), ret(unix.SECCOMP_RET_ALLOW))
		}
	}
	prog = append(prog, ret(deny))
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return errno
	}
	return nil
}
