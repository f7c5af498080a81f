package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"taskyard/runner/confine"
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
		if err := confine.NoNewRights(); err != nil {
			return fmt.Errorf("capabilities: %w", err)
		}
	}
	if j.Landlock > 0 {
		rules := confine.Rules{Version: j.Landlock, Writable: j.Writable, Readable: j.Readable, Devices: confine.Devices, ReadsFew: true, NoNetwork: !j.Network}
		if err := rules.Enter(); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	if j.Seccomp {
		if err := confine.Sockets(j.Network); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	return syscall.Exec(j.Argv[0], j.Argv, os.Environ())
}

// limit sets what one process may use. When memory runs short on the machine,
// the kernel is to take these processes first.
func limit(j job) error {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, shellNiceness)
	for _, l := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, maxFileSize},
		{unix.RLIMIT_DATA, maxMemory},
		{unix.RLIMIT_NOFILE, maxOpenFiles},
		// It counts all threads of the account; root has no such limit, for
		// whom the keeper counts.
		{unix.RLIMIT_NPROC, uint64(threadsOf(os.Getuid()) + j.Processes)},
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.what, &now); err != nil {
			return err
		}
		most := min(l.most, now.Max)
		if err := syscall.Setrlimit(l.what, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}
