package confine

import (
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filterArch returns the kernel's constant for a processor, 0 if there is no
// filter for it.
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
	offArgs = 16 // 8 bytes each; tests use the low half
)

const (
	x32Bit     = 0x40000000 // marks x32 system calls on amd64
	socketKind = 0xf        // type bits in the second argument of socketpair
	setIDs     = unix.S_ISUID | unix.S_ISGID
	makesFile  = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
		unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP
	ioUser    = 3 // IOPRIO_WHO_USER
	unchanged = 0xffffffff
)

// HasSeccomp reports whether Filter works here: a filter can make a system call
// fail, and one exists for this processor.
func HasSeccomp() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0 && filterArch(runtime.GOARCH) != 0
}

// The actions of a filter.
const (
	permit      = unix.SECCOMP_RET_ALLOW
	ask         = unix.SECCOMP_RET_USER_NOTIF
	errnoAction = unix.SECCOMP_RET_ERRNO // succeed without doing anything
	denied      = errnoAction | uint32(unix.EACCES)
	forbid      = errnoAction | uint32(unix.EPERM)
	absent      = errnoAction | uint32(unix.ENOSYS)
	lacking     = errnoAction | uint32(unix.EOPNOTSUPP)
)

// test is a condition on an argument.
type test struct {
	arg    int
	mask   uint32   // only these bits; 0: all
	values []uint32 // equal to one of them
	not    bool     // equal to none of them
}

func isIn(arg int, values ...uint32) test    { return test{arg: arg, values: values} }
func isNotIn(arg int, values ...uint32) test { return test{arg: arg, values: values, not: true} }
func anyBits(arg int, bits uint32) test {
	return test{arg: arg, mask: bits, values: []uint32{0}, not: true}
}

// rule is the action for a system call if all tests match. The first matching
// rule applies.
type rule struct {
	nr     uint32
	tests  []test
	action uint32
}

func newRule(nr, action uint32, tests ...test) rule { return rule{nr, tests, action} }

// refused are system calls that affect the server or other programs of the
// account, create namespaces, in which a program would have other rights, or
// bypass a filter.
var refused = map[uint32][]uint32{
	forbid: {
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT,
		unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
		unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
		unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE,
		unix.SYS_KCMP, unix.SYS_MIGRATE_PAGES, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN,
		unix.SYS_USERFAULTFD, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_QUOTACTL, unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	},
	// Programs can handle that these are missing.
	absent: {
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_OPENAT2, unix.SYS_CLONE3, unix.SYS_FILE_SETATTR,
	},
	lacking: {
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
	},
}

// Filter blocks system calls of a thread and of everything that it starts. It
// always blocks limits, priorities and CPU affinity of other processes,
// namespaces and mounts, setuid and setgid bits, ownership, extended
// attributes, tracing, and ways around the filter itself.
type Filter struct {
	Sockets    bool // block sockets except those of the network
	Network    bool // with Sockets: block network sockets too, unless set
	Attributes bool // modes and times are changed only by a Broker
}

// rules returns the rules of the filter.
func (f Filter) rules() (list []rule) {
	for action, calls := range refused {
		for _, nr := range calls {
			list = append(list, newRule(nr, action))
		}
	}
	// clone3 is reported as missing, because a filter cannot see its flags.
	list = append(list, newRule(unix.SYS_CLONE, forbid, anyBits(0, namespaces)))
	for _, nr := range []uint32{
		unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETATTR,
		unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_MOVE_PAGES,
	} {
		list = append(list, newRule(nr, forbid, isNotIn(0, 0))) // 0 is the calling process or thread
	}
	list = append(list,
		newRule(unix.SYS_SETPRIORITY, forbid, isNotIn(1, 0)), newRule(unix.SYS_SETPRIORITY, forbid, isIn(0, unix.PRIO_USER)),
		newRule(unix.SYS_IOPRIO_SET, forbid, isNotIn(1, 0)), newRule(unix.SYS_IOPRIO_SET, forbid, isIn(0, ioUser)))
	// Setting the owner to oneself has no effect on one's own files. The filter
	// cannot see who owns a file.
	own := func(nr uint32, uid int) {
		list = append(list, newRule(nr, errnoAction, isIn(uid, unchanged, uint32(os.Geteuid())), isIn(uid+1, unchanged, uint32(os.Getegid()))),
			newRule(nr, forbid))
	}
	own(unix.SYS_FCHOWN, 1)
	own(unix.SYS_FCHOWNAT, 2)
	for _, nr := range ownerCalls {
		own(nr, 1)
	}
	list = append(list, newRule(unix.SYS_OPENAT, forbid, anyBits(2, makesFile), anyBits(3, setIDs)),
		newRule(unix.SYS_MKNODAT, forbid, anyBits(2, setIDs)))
	list = append(list, makingRules...)
	for _, a := range attributes {
		if f.Attributes {
			list = append(list, newRule(a.nr, ask))
		} else if a.mode >= 0 {
			list = append(list, newRule(a.nr, forbid, anyBits(a.mode, setIDs)))
		}
	}
	if f.Sockets {
		// Pairs of stream sockets stay allowed, because they lead nowhere.
		pairs := test{arg: 1, mask: socketKind, values: []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}, not: true}
		list = append(list, newRule(unix.SYS_SOCKETPAIR, denied, pairs))
		if f.Network {
			list = append(list, newRule(unix.SYS_SOCKET, denied, isNotIn(0, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)))
		} else {
			list = append(list, newRule(unix.SYS_SOCKET, denied))
		}
	}
	return list
}

func load(off uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
}

func jump(k uint32, yes, no int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(yes), Jf: uint8(no), K: k}
}

func ret(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }

// program returns the filter for the kernel. A program of another architecture,
// whose calls have other numbers, is killed; x32 calls are reported as missing.
func (f Filter) program() []unix.SockFilter {
	prog := []unix.SockFilter{
		load(offArch), jump(filterArch(runtime.GOARCH), 1, 0), ret(unix.SECCOMP_RET_KILL_PROCESS),
		load(offNr),
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jf: 1, K: x32Bit},
		ret(absent),
	}
	for _, r := range f.rules() {
		body := r.body()
		prog = append(append(prog, jump(r.nr, 0, len(body))), body...)
	}
	return append(prog, ret(permit))
}

// body returns the instructions of a rule for a call with its number. If a test
// fails, execution continues after it, with the call number loaded again.
func (r rule) body() (body []unix.SockFilter) {
	if len(r.tests) == 0 {
		return []unix.SockFilter{ret(r.action)}
	}
	body = []unix.SockFilter{ret(r.action), load(offNr)} // built from the end
	for _, t := range slices.Backward(r.tests) {
		fail := len(body) - 1 // jump from the next instruction to the last
		var part []unix.SockFilter
		for i := range t.values {
			left := len(t.values) - 1 - i
			yes, no := left, 0
			if i == len(t.values)-1 {
				no = fail
			}
			if t.not {
				yes, no = left+fail, 0
			}
			part = append(part, jump(t.values[i], yes, no))
		}
		head := []unix.SockFilter{load(uint32(offArgs + 8*t.arg))}
		if t.mask != 0 {
			head = append(head, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: t.mask})
		}
		body = append(append(head, part...), body...)
	}
	return body
}

// Bytes returns the filter in the file format of bubblewrap. It does not
// include Attributes.
func (f Filter) Bytes() []byte {
	prog := f.program()
	return slices.Clone(unsafe.Slice((*byte)(unsafe.Pointer(&prog[0])), len(prog)*int(unsafe.Sizeof(prog[0]))))
}

// Enter installs the filter for this thread and everything that it starts. Call
// it after NoNewRights. With Attributes, it returns the file descriptor for a
// Broker, otherwise -1.
func (f Filter) Enter() (listener int, err error) {
	flags := uintptr(0)
	if f.Attributes {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	return enter(f.program(), flags)
}

func enter(prog []unix.SockFilter, flags uintptr) (listener int, err error) {
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return -1, errno
	}
	if flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER == 0 {
		return -1, nil
	}
	return int(fd), nil
}
