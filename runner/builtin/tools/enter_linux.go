package tools

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"taskyard/runner/confine"
	"taskyard/runner/tree"
)

// runSecondStage is the second stage: it drops its rights one by one and executes the
// command. It returns only on failure.
func runSecondStage() (exitCode int) {
	var j job
	err := json.NewDecoder(os.NewFile(jobFD, "job")).Decode(&j)
	if err == nil {
		err = execJob(j)
	}
	fmt.Fprintln(os.NewFile(reportFD, "report"), err)
	return 1
}

func execJob(j job) error {
	if err := os.Chdir(j.Dir); err != nil {
		return err
	}
	if err := limit(j); err != nil {
		return fmt.Errorf("limits: %w", err)
	}
	// Bubblewrap needs its rights, and drops them itself.
	if j.Bwrap {
		return becomeBubblewrap(j)
	}
	if j.Landlock > 0 || j.Seccomp {
		if err := confine.NoNewRights(); err != nil {
			return fmt.Errorf("capabilities: %w", err)
		}
	}
	if j.Landlock > 0 {
		rules := confine.Rules{
			Version: j.Landlock, Writable: j.Writable, Readable: j.Readable,
			Devices: confine.Devices, ReadsFew: true, NoNetwork: !j.Network,
		}
		if err := rules.Enter(); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	if j.Seccomp {
		listener, err := confine.Filter{Sockets: true, Network: j.Network, Attributes: j.Broker}.Enter()
		if err == nil && j.Broker {
			err = unix.Sendmsg(brokerFD, []byte{0}, unix.UnixRights(listener), nil, 0)
		}
		if err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	return syscall.Exec(j.Argv[0], j.Argv, os.Environ())
}

// becomeBubblewrap executes bubblewrap with the filter that it installs last.
func becomeBubblewrap(j job) error {
	argv := j.Argv
	if j.Seccomp {
		fd, err := unix.MemfdCreate("filter", 0) // it is inherited
		if err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
		if _, err := unix.Write(fd, confine.Filter{Sockets: true, Network: j.Network}.Bytes()); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
		if _, err := unix.Seek(fd, 0, io.SeekStart); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
		argv = slices.Insert(slices.Clone(argv), 1, "--seccomp", strconv.Itoa(fd))
	}
	return syscall.Exec(argv[0], argv, os.Environ())
}

// limit sets the resource limits of a process.
func limit(j job) error {
	tree.LowerPriority()
	return tree.Limits{
		FileSize: maxFileSize, Data: maxMemory, OpenFiles: maxOpenFiles,
		// The limit counts all threads of the account. It does not apply to
		// root, for whom the keeper counts.
		Threads: uint64(tree.CountThreads(os.Getuid()) + j.Processes),
	}.Set()
}
