package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	processes "taskyard/runner/tree"
	"taskyard/task"
)

// gitTime bounds one call of Git: a pipe in the place of a file it reads would
// hold it up for ever.
const gitTime = 2 * time.Minute

// quiet keeps Git from running anything that a repository's configuration
// names, from asking anybody, and from reaching the network.
var quiet = []string{
	"--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
	"-c", "core.pager=cat", "-c", "core.editor=false", "-c", "core.askPass=", "-c", "credential.helper=",
	"-c", "protocol.allow=never", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "commit.gpgSign=false",
	"-c", "submodule.recurse=false", "-c", "advice.detachedHead=false",
}

// git calls Git in one place and way.
type git struct {
	path string   // of the program
	dir  string   // where it is called
	env  []string // besides what every call has
	args []string // before the command
}

// findGit returns the installed Git. Error: a *UnusableError.
func findGit() (git, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return git{}, &UnusableError{"A worktree needs Git, which is not installed on this machine"}
	}
	return git{path: path}, nil
}

// at is the same Git, called elsewhere.
func (g git) at(dir string, args ...string) git {
	g.dir, g.args = dir, args
	return g
}

// gitError is what Git said when it failed.
type gitError struct {
	command string
	text    string
}

func (e *gitError) Error() string { return "git " + e.command + ": " + e.text }

func (g git) command(ctx context.Context, args []string) *exec.Cmd {
	all := append(append(append([]string{}, quiet...), g.args...), args...)
	cmd := exec.CommandContext(ctx, g.path, all...)
	cmd.Dir, cmd.WaitDelay = g.dir, 5*time.Second
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C", "LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_LITERAL_PATHSPECS=1", "GIT_ASKPASS=", "SSH_ASKPASS=",
	}, g.env...)
	return cmd
}

// stream calls Git and has read take what it prints. The error is a *gitError,
// that of read, or the end of ctx.
func (g git) stream(ctx context.Context, in io.Reader, read func(io.Reader) error, args ...string) error {
	within, stop := context.WithTimeout(ctx, gitTime)
	defer stop()
	cmd := g.command(within, args)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = in, &bounded{buf: &said, left: 4096}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	reaped, err := processes.Begin(cmd)
	if err != nil {
		return err
	}
	defer reaped()
	readErr := read(out)
	if readErr != nil {
		stop() // what it still has to say is of no use
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case readErr != nil:
		return readErr
	case within.Err() != nil:
		return &gitError{args[0], fmt.Sprintf("it took longer than %d s", int(gitTime.Seconds()))}
	case err != nil:
		return &gitError{args[0], lastWords(said.String(), err)}
	}
	return nil
}

// run calls Git and returns the little that it prints, without the newline at
// its end.
func (g git) run(ctx context.Context, in io.Reader, args ...string) (string, error) {
	var b []byte
	err := g.stream(ctx, in, func(r io.Reader) (err error) {
		b, err = io.ReadAll(io.LimitReader(r, 1<<20))
		return err
	}, args...)
	return strings.TrimSuffix(string(b), "\n"), err
}

// lastWords is what Git complained of, on one line.
func lastWords(said string, err error) string {
	var list []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "fatal: "); ok {
			line = text
		} else if text, ok := strings.CutPrefix(line, "error: "); ok {
			line = text
		} else if strings.HasPrefix(line, "warning: ") || strings.HasPrefix(line, "Preparing worktree") || strings.HasPrefix(line, "hint: ") {
			continue
		}
		if line != "" {
			list = append(list, line)
		}
	}
	if len(list) == 0 {
		return err.Error()
	}
	return task.ClipText(printable(strings.Join(list, " ")), 400)
}

// locked reports whether Git failed because another holds a lock.
func locked(err error) bool {
	var e *gitError
	return errors.As(err, &e) && strings.Contains(e.text, ".lock") && strings.Contains(e.text, "File exists")
}

// patiently calls fn again while a lock is held, for about 2 s.
func patiently(ctx context.Context, fn func() error) error {
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		err := fn()
		if err == nil || !locked(err) || wait > time.Second {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// bounded keeps the beginning of what is written.
type bounded struct {
	buf  *bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.buf.Write(p[:n])
	b.left -= n
	return len(p), nil
}
