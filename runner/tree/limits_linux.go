package tree

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Niceness is that of all that the server starts: the server goes first.
const Niceness = 10

// Limits are what each process of a program may use, and all that it starts;
// 0 leaves a thing as it is. Nobody writes a core.
type Limits struct {
	FileSize   uint64 // bytes of a file
	Data       uint64 // bytes of private memory that can be written
	OpenFiles  uint64
	Threads    uint64 // of the whole account; root has no such limit
	CPUSeconds uint64
}

// Set takes from this process, for good, what is beyond the limits.
func (l Limits) Set() error {
	for what, most := range map[int]uint64{
		unix.RLIMIT_FSIZE: l.FileSize, unix.RLIMIT_DATA: l.Data, unix.RLIMIT_NOFILE: l.OpenFiles,
		unix.RLIMIT_NPROC: l.Threads, unix.RLIMIT_CPU: l.CPUSeconds, unix.RLIMIT_CORE: 0,
	} {
		if most == 0 && what != unix.RLIMIT_CORE {
			continue
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(what, &now); err != nil {
			return err
		}
		most = min(most, now.Max)
		if err := syscall.Setrlimit(what, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}

// Yield puts this thread, and what it starts, behind the server for the
// processor, and this process first in line when memory runs short. The
// returned function takes the latter back.
func Yield() (restore func()) {
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

// memory is that of the machine in bytes, 0 when it is not known.
func memory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return info.Totalram * uint64(info.Unit) //nolint:unconvert,nolintlint // its type differs between machines
}
