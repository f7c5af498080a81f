//go:build !linux

package supervise

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"taskyard/runner/tree"
	"taskyard/task"
)

// child is a started program. Without a subreaper, only the program itself is
// stopped, not its descendants: Taskyard runs agents in production on Linux.
type child struct {
	process        Process
	stdin          *os.File
	stdout, stderr *os.File
	cmd            *exec.Cmd
	done           chan struct{}
	report         report
	stopping       sync.Once
	stopped        atomic.Bool
}

func startChild(p program) (*child, error) {
	c := &child{done: make(chan struct{})}
	stdin, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r1, stdout, err1 := os.Pipe()
	r2, stderr, err2 := os.Pipe()
	c.stdin, c.stdout, c.stderr = w, r1, r2
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	c.cmd = &exec.Cmd{Path: p.Argv[0], Args: p.Argv, Env: p.Env, Dir: p.Dir, Stdin: stdin, Stdout: stdout, Stderr: stderr}
	err = c.cmd.Start()
	closeAll([]*os.File{stdin, stdout, stderr})
	if err != nil {
		c.close()
		if errors.As(err, new(*fs.PathError)) {
			return nil, &startError{text: err.Error()}
		}
		return nil, err
	}
	c.process.PID = c.cmd.Process.Pid
	go c.await()
	return c, nil
}

func (c *child) await() {
	defer close(c.done)
	_ = c.cmd.Wait()
	c.report = report{Ended: true, End: tree.End{Code: max(c.cmd.ProcessState.ExitCode(), 0), Stopped: c.stopped.Load()}}
	if c.cmd.ProcessState.ExitCode() < 0 {
		c.report.Signal = 9
	}
}

func (c *child) stop(grace time.Duration) {
	c.stopping.Do(func() {
		c.stopped.Store(true)
		if c.cmd.Process.Signal(os.Interrupt) != nil {
			grace = 0
		}
		time.AfterFunc(grace, func() { _ = c.cmd.Process.Kill() })
	})
}

func (c *child) sweep() int { return 0 }

func (c *child) close() { closeAll([]*os.File{c.stdin, c.stdout, c.stderr}) }

// ShimMain is supported on Linux only; there is no shim elsewhere.
func ShimMain([]string) (exitCode int) { return 2 }

// Adopt is supported on Linux only; elsewhere it does nothing.
func Adopt() error { return nil }

// KillOrphan is supported on Linux only; elsewhere it finds nothing.
func KillOrphan(context.Context, Process, task.ID) (killed int, err error) { return 0, nil }

// InstanceProcesses is supported on Linux only; elsewhere it finds nothing.
func InstanceProcesses(string) []int { return nil }
