package tree

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pipes returns an error unless each of the file descriptors is a pipe, as the
// server hands them over, and keeps them from the programs that this process
// starts.
func Pipes(fds ...int) error {
	for _, fd := range fds {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
			return fmt.Errorf("file descriptor %d is no pipe", fd)
		}
		unix.CloseOnExec(fd)
	}
	return nil
}

// BecomeKeeper makes this process the parent of all that will lose its own
// below it. Of the files that this process was started with, its programs
// inherit only those that are named for them.
func BecomeKeeper() error {
	keepFiles()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot become a sub-reaper: %w", err)
	}
	return nil
}

// keepFiles closes every file but the first three to what this process starts.
// The runtime's own are closed already.
func keepFiles() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	list, _ := os.ReadDir("/proc/self/fd") // before Linux 5.11; what cannot be seen stays as it is
	for _, e := range list {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// Program is the one program that a keeper has started.
type Program struct {
	PID   int
	Exits chan unix.WaitStatus // the program has ended; holds one
	Empty chan struct{}        // closed when nothing is left below the keeper
}

// Start makes the program, in a session of its own and with the environment of
// this process, and lets go of the keeper's first three files, so that their
// other ends see when the program closes them. The program dies with the
// calling thread, which is therefore to be locked. Call Reap next.
func Start(path string, argv []string, files []uintptr) (*Program, error) {
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: files,
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return nil, err
	}
	if null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		for fd := range 3 {
			_ = unix.Dup3(null, fd, 0)
		}
	}
	return &Program{PID: pid, Exits: make(chan unix.WaitStatus, 1), Empty: make(chan struct{})}, nil
}

// Reap waits for all that ends below the keeper, until there is nothing left.
func (p *Program) Reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // ECHILD
			close(p.Empty)
			return
		case pid == p.PID:
			p.Exits <- status
		}
	}
}

// Exited notes how the program ended.
func (e *End) Exited(status unix.WaitStatus) {
	if status.Signaled() {
		e.Signal = int(status.Signal())
	} else {
		e.Code = status.ExitStatus()
	}
}
