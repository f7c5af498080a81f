package tree

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Niceness is the niceness of all processes that the server starts, so that the
// server has priority.
const Niceness = 10

// Limits are the limits of each process of a program and its descendants; 0
// leaves a limit unchanged. Core dumps are disabled.
type Limits struct {
	FileSize   uint64 // bytes of a file
	Data       uint64 // bytes of writable private memory
	OpenFiles  uint64
	Threads    uint64 // of the whole account; does not apply to root
	CPUSeconds uint64
}

// Set permanently lowers the limits of this process.
func (l Limits) Set() error {
	for what, limit := range map[int]uint64{
		unix.RLIMIT_FSIZE: l.FileSize, unix.RLIMIT_DATA: l.Data, unix.RLIMIT_NOFILE: l.OpenFiles,
		unix.RLIMIT_NPROC: l.Threads, unix.RLIMIT_CPU: l.CPUSeconds, unix.RLIMIT_CORE: 0,
	} {
		if limit == 0 && what != unix.RLIMIT_CORE {
			continue
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(what, &now); err != nil {
			return err
		}
		limit = min(limit, now.Max)
		if err := syscall.Setrlimit(what, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}

// LowerPriority lowers the CPU priority of this thread and what it starts below that of
// the server, and makes this process the first to be killed when memory runs
// out. restore undoes the latter.
func LowerPriority() (restore func()) {
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, Niceness)
	file, err := os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err != nil {
		return func() {}
	}
	before, _ := io.ReadAll(file)
	_, _ = file.WriteAt([]byte("1000"), 0)
	return func() {
		_, _ = file.WriteAt(before, 0)
		_ = file.Close()
	}
}

// memory returns the memory of the machine in bytes, 0 if unknown.
func memory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return info.Totalram * uint64(info.Unit) //nolint:unconvert,nolintlint // its type differs between machines
}
