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

// shimStart bounds the wait for the shim's first word.
const shimStart = 30 * time.Second

// forceAfter is the time, besides the grace, that a shim gets to end its tree
// before the server does it.
const forceAfter = 3 * time.Second

// child is a started program with the shim above it.
type child struct {
	process        Process // of the shim: the root of the whole tree
	runID          task.ID
	stdin          *os.File
	stdout, stderr *os.File
	lifeline       *os.File
	status         *os.File
	cmd            *exec.Cmd
	reaped         func()        // to be called when the shim was waited for
	done           chan struct{} // closed when the shim has ended; then report holds
	report         report        // not Ended: the shim died without a word
	stopping       sync.Once
}

// pipes makes five pipes and remembers which ends to close.
type pipes struct {
	ours, theirs []*os.File
	err          error
}

// out makes a pipe that we write.
func (p *pipes) out() (mine, yours *os.File) { yours, mine = p.pipe(); return p.add(mine, yours) }

// in makes a pipe that we read.
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

// startChild starts the shim and through it the program. The error is a
// *startError when the program itself is to blame.
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
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // a Ctrl-C at the server's terminal is not for agents
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

// begin waits until the program runs, and then waits for its end.
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
		err = &startError{first.StartError, first.Passing}
	default:
		go c.await(lines)
		return nil
	}
	// The program may run already, and may even have stopped the shim.
	c.force()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	c.reaped()
	c.close()
	return err
}

// await closes done when the shim has said how the program ended, or died.
func (c *child) await(lines *json.Decoder) {
	defer close(c.done)
	var last report
	if err := lines.Decode(&last); err == nil {
		c.report = last
	}
	if !c.report.Ended {
		// It was killed, or stop has given it up: it is of no more use.
		_ = c.cmd.Process.Kill()
	}
	_ = c.cmd.Wait()
	c.reaped()
}

// stop asks the shim to end the tree, by KILL after the grace at the latest,
// and sees to it that this happens even when the shim itself hangs. It returns
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

// force kills the tree from here, the shim too.
func (c *child) force() {
	ctx, cancel := context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	_, _ = KillOrphan(ctx, c.process, c.runID)
	_ = c.status.SetReadDeadline(time.Now())
}

// sweep is the second net: it kills what is not below the shim any more,
// because somebody killed the shim, and has the marks of the run, or has
// become the server's own.
func (c *child) sweep() int {
	ctx, cancel := context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	killed, _ := tree.KillAll(ctx, func() []tree.Proc { return append(tree.Strays(), ProcessesOfRun(c.runID)...) })
	return killed
}

// close closes every file; what still reads or writes them is woken.
func (c *child) close() {
	closeAll([]*os.File{c.stdin, c.stdout, c.stderr, c.lifeline, c.status})
}
