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

// Pipes returns an error unless each of the file descriptors is a pipe, as
// passed by the server, and prevents programs that this process starts from
// inheriting them.
func Pipes(fds ...int) error {
	for _, fd := range fds {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
			return fmt.Errorf("file descriptor %d is not a pipe", fd)
		}
		unix.CloseOnExec(fd)
	}
	return nil
}

// BecomeKeeper makes this process the parent of all descendants that lose
// theirs. Of the files that this process was started with, its programs inherit
// only those that are passed explicitly.
func BecomeKeeper() error {
	keepFiles()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot become a sub-reaper: %w", err)
	}
	return nil
}

// keepFiles prevents processes that this one starts from inheriting any file
// except the first three. Those of the Go runtime are not inherited anyway.
func keepFiles() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	list, _ := os.ReadDir("/proc/self/fd") // before Linux 5.11; files that cannot be listed are inherited
	for _, e := range list {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// Program is the program that a keeper has started.
type Program struct {
	PID   int
	Exits chan unix.WaitStatus // receives the program's status; capacity one
	Empty chan struct{}        // closed when no descendants of the keeper are left
}

// Start starts the program in its own session with the environment of this
// process, and closes the keeper's first three files, so that their other ends
// notice when the program closes them. The program dies with the calling
// thread, which must therefore be locked. Call Reap next.
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

// Reap waits for all descendants of the keeper until none are left.
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

// Exited records how the program ended.
func (e *End) Exited(status unix.WaitStatus) {
	if status.Signaled() {
		e.Signal = int(status.Signal())
	} else {
		e.Code = status.ExitStatus()
	}
}
