package supervise

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"taskyard/runner/tree"
	"taskyard/task"
)

// shimStart bounds the wait for the shim's first message.
const shimStart = 30 * time.Second

// forceAfter is how long, in addition to the grace period, a shim may take to
// end its tree before the server does.
const forceAfter = 3 * time.Second

// child is a started program with its shim.
type child struct {
	process        Process // the shim: the root of the whole tree
	runID          task.ID
	stdin          *os.File
	stdout, stderr *os.File
	lifeline       *os.File
	status         *os.File
	cmd            *exec.Cmd
	reaped         func()        // to be called after the shim was waited for
	done           chan struct{} // closed when the shim has ended; then report is set
	report         report        // not Ended: the shim died without a report
	stopping       sync.Once
}

// pipes creates five pipes and tracks which ends to close.
type pipes struct {
	ours, theirs []*os.File
	err          error
}

// out creates a pipe that we write to.
func (p *pipes) out() (mine, yours *os.File) { yours, mine = p.pipe(); return p.add(mine, yours) }

// in creates a pipe that we read from.
func (p *pipes) in() (mine, yours *os.File) { return p.add(p.pipe()) }

func (p *pipes) pipe() (r, w *os.File) {
	if p.err == nil {
		r, w, p.err = os.Pipe()
	}
	return r, w
}

func (p *pipes) add(mine, yours *os.File) (*os.File, *os.File) {
	p.ours, p.theirs = append(p.ours, mine), append(p.theirs, yours)
	return mine, yours
}

// startChild starts the shim, which starts the program. It returns a
// *startError if the program itself is the cause.
func startChild(p program) (*child, error) {
	c := &child{runID: p.RunID, done: make(chan struct{})}
	var all pipes
	var stdin, stdout, stderr, lifeline, status *os.File
	c.stdin, stdin = all.out()
	c.stdout, stdout = all.in()
	c.stderr, stderr = all.in()
	c.lifeline, lifeline = all.out()
	c.status, status = all.in()
	if all.err != nil {
		closeAll(append(all.ours, all.theirs...))
		return nil, all.err
	}
	path, args := tree.KeeperCommand(p.Shim, ShimArg)
	args = append(args, strconv.FormatInt(p.Grace.Milliseconds(), 10), strconv.Itoa(p.Limits.TimeoutSeconds*runtime.NumCPU()))
	args = append(args, rulesArg(p.Rules)...)
	c.cmd = &exec.Cmd{
		Path: path, Args: append(args, p.Argv...), Env: p.Env, Dir: p.Dir,
		Stdin: stdin, Stdout: stdout, Stderr: stderr, ExtraFiles: []*os.File{lifeline, status},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // a Ctrl-C at the server's terminal must not reach agents
	}
	var err error
	c.reaped, err = tree.Begin(c.cmd)
	closeAll(all.theirs)
	if err != nil {
		closeAll(all.ours)
		return nil, fmt.Errorf("start the shim: %w", err)
	}
	return c, c.begin()
}

// begin waits until the program runs, and starts waiting for its end.
func (c *child) begin() (err error) {
	var first report
	lines := json.NewDecoder(io.LimitReader(c.status, 64<<10))
	c.process, err = processFromPID(c.cmd.Process.Pid)
	if err == nil {
		_ = c.status.SetReadDeadline(time.Now().Add(shimStart))
		err = lines.Decode(&first)
		_ = c.status.SetReadDeadline(time.Time{})
	}
	switch {
	case err != nil:
		err = fmt.Errorf("the shim did not start: %w", err)
	case first.StartError != "":
		err = &startError{first.StartError, first.Transient}
	default:
		go c.await(lines)
		return nil
	}
	// The program may already be running, and may even have stopped the shim.
	c.force()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	c.reaped()
	c.close()
	return err
}

// await closes done when the shim has reported how the program ended, or has
// died.
func (c *child) await(lines *json.Decoder) {
	defer close(c.done)
	var last report
	if err := lines.Decode(&last); err == nil {
		c.report = last
	}
	if !c.report.Ended {
		// It was killed, or stop has given up on it: it is no longer needed.
		_ = c.cmd.Process.Kill()
	}
	_ = c.cmd.Wait()
	c.reaped()
}

// stop asks the shim to end the tree, with SIGKILL after the grace period at
// the latest, and ensures that this happens even if the shim hangs. It returns
// at once.
func (c *child) stop(grace time.Duration) {
	c.stopping.Do(func() {
		_, _ = c.lifeline.Write([]byte{askTerm})
		_ = c.cmd.Process.Signal(syscall.SIGCONT)
		go func() {
			select {
			case <-c.done:
				return
			case <-time.After(grace):
				_, _ = c.lifeline.Write([]byte{askKill})
			}
			select {
			case <-c.done:
			case <-time.After(forceAfter):
				c.force()
			}
		}()
	})
}

// force kills the tree directly, including the shim.
func (c *child) force() {
	ctx, cancel := context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	_, _ = KillOrphan(ctx, c.process, c.runID)
	_ = c.status.SetReadDeadline(time.Now())
}

// sweep kills what is no longer below the shim because the shim was killed:
// processes that have the marks of the run, or were reparented to the server.
func (c *child) sweep() int {
	ctx, cancel := context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	killed, _ := tree.KillAll(ctx, func() []tree.Proc { return append(tree.Strays(), ProcessesOfRun(c.runID)...) })
	return killed
}

// close closes all files, which also wakes their readers and writers.
func (c *child) close() {
	closeAll([]*os.File{c.stdin, c.stdout, c.stderr, c.lifeline, c.status})
}
