package confine

import "golang.org/x/sys/unix"

// Calls that newer processors lack.
var (
	ownerCalls  = []uint32{unix.SYS_CHOWN, unix.SYS_LCHOWN}
	makingRules = []rule{
		newRule(unix.SYS_OPEN, forbid, anyBits(1, makesFile), anyBits(2, setIDs)),
		newRule(unix.SYS_CREAT, forbid, anyBits(1, setIDs)),
		newRule(unix.SYS_MKNOD, forbid, anyBits(1, setIDs)),
	}
	attributes = append([]attribute{
		{nr: unix.SYS_CHMOD, dir: -1, path: 0, mode: 1, times: -1, flags: -1},
		{nr: unix.SYS_UTIME, dir: -1, path: 0, mode: -1, times: 1, flags: -1, unit: wholeSeconds},
		{nr: unix.SYS_UTIMES, dir: -1, path: 0, mode: -1, times: 1, flags: -1, unit: microseconds},
		{nr: unix.SYS_FUTIMESAT, dir: 0, path: 1, mode: -1, times: 2, flags: -1, unit: microseconds},
	}, attributesAt...)
)
