package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The file descriptors of a keeper besides those of the command.
const (
	jobFD    = 3
	reportFD = 4
)

// enterArg makes the binary the second stage: the process that confines itself
// and then becomes bash.
const enterArg = "enter"

const (
	lookEvery = 500 * time.Millisecond // at the number of processes
	killEvery = 20 * time.Millisecond
	killUntil = 10 * time.Second
)

// ToolShellMain is the body of the hidden subcommand. Without arguments it is
// the keeper of one command: all that the command starts, in whatever session,
// stays below it, and is killed when the command ends, when the server says
// so, or when the server is gone. It returns the exit code of the keeper.
func ToolShellMain(args []string) (exitCode int) {
	// The death signal of the child is bound to this thread, as is what the
	// second stage does to itself.
	runtime.LockOSThread()
	for _, fd := range []int{jobFD, reportFD} {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
			fmt.Fprintln(os.Stderr, "taskyard: "+ToolShellArg+" is started by the server only")
			return 2
		}
		unix.CloseOnExec(fd)
	}
	if len(args) > 0 && args[0] == enterArg {
		return enter()
	}
	k := &keeper{exits: make(chan unix.WaitStatus, 1), empty: make(chan struct{}), ends: make(chan os.Signal, 4)}
	if err := k.run(); err != nil {
		k.end.StartError = err.Error()
	}
	_ = json.NewEncoder(os.NewFile(reportFD, "report")).Encode(k.end)
	return 0
}

// keeper is the parent of one command.
type keeper struct {
	job   job
	main  int // pid of the command
	exits chan unix.WaitStatus
	empty chan struct{}  // closed when nothing is left below
	ends  chan os.Signal // the server, or somebody else, wants the end
	end   ending
}

func (k *keeper) run() error {
	jobs := os.NewFile(jobFD, "job")
	if err := json.NewDecoder(jobs).Decode(&k.job); err != nil {
		return fmt.Errorf("the job cannot be read: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot become a sub-reaper: %w", err)
	}
	signal.Notify(k.ends, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM)
	if err := k.start(); err != nil {
		return err
	}
	go k.reap()
	go func() {
		_, _ = io.Copy(io.Discard, jobs)
		k.ends <- unix.SIGTERM
	}()
	k.watch()
	return nil
}

// start makes the second stage and returns when it has become the command, or
// with the reason why it could not.
func (k *keeper) start() error {
	jobR, jobW, err := os.Pipe()
	if err != nil {
		return err
	}
	failR, failW, err := os.Pipe()
	if err != nil {
		return err
	}
	null, err := os.Open("/dev/null")
	if err != nil {
		return err
	}
	k.main, err = syscall.ForkExec("/proc/self/exe", []string{"taskyard", ToolShellArg, enterArg}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{null.Fd(), 1, 2, jobR.Fd(), failW.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	closeFiles([]*os.File{jobR, failW, null})
	if err != nil {
		return err
	}
	// The other end of the output is to end with the command.
	if fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		for to := range 3 {
			_ = unix.Dup3(fd, to, 0)
		}
	}
	_ = json.NewEncoder(jobW).Encode(k.job)
	_ = jobW.Close()
	why, _ := io.ReadAll(io.LimitReader(failR, 4096))
	_ = failR.Close()
	if len(why) > 0 {
		_, _ = unix.Wait4(k.main, nil, 0, nil)
		return errors.New(strings.TrimSpace(string(why)))
	}
	return nil
}

// reap waits for all that ends below, until there is nothing left.
func (k *keeper) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // ECHILD
			close(k.empty)
			return
		case pid == k.main:
			k.exits <- status
		}
	}
}

// watch returns when nothing is left below, or what is left cannot be killed.
func (k *keeper) watch() {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case status := <-k.exits:
			k.exited(status)
			k.end.Leftover = len(below())
			k.killAll()
			return
		case <-k.ends:
			k.end.Asked = true
			k.killAll()
			return
		case <-look.C:
			if len(below()) > k.job.Processes {
				k.end.TooMany = true
				k.killAll()
				return
			}
		}
	}
}

func (k *keeper) exited(status unix.WaitStatus) {
	if status.Signaled() {
		k.end.Signal = int(status.Signal())
	} else {
		k.end.Code = status.ExitStatus()
	}
}

// killAll kills until nothing is left.
func (k *keeper) killAll() {
	again := time.NewTicker(killEvery)
	defer again.Stop()
	give := time.After(killUntil)
	for {
		killBelow()
		select {
		case <-k.empty:
			return
		case <-again.C:
		case <-give:
			k.end.Survivors = len(below())
			return
		}
	}
}
