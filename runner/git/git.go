// Package git runs Git on untrusted repositories: nothing that their
// configuration, hooks or attributes name is ever executed.
package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"taskyard/internal/sleep"
	"taskyard/runner/textdiff"
	"taskyard/runner/tree"
	"taskyard/task"
)

// callTime bounds one call of Git, which would block forever on a pipe in place
// of a file.
const callTime = 2 * time.Minute

// quiet prevents Git from executing anything that a repository's configuration
// names, from prompting, and from using the network.
var quiet = []string{
	"--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
	"-c", "core.pager=cat", "-c", "core.editor=false", "-c", "core.askPass=", "-c", "credential.helper=",
	"-c", "protocol.allow=never", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "commit.gpgSign=false",
	"-c", "submodule.recurse=false", "-c", "advice.detachedHead=false", "-c", "core.alternateRefsCommand=true",
}

// Git runs Git in one folder with fixed settings.
type Git struct {
	Dir  string   // working folder
	path string   // of the executable
	env  []string // in addition to what every call has
	args []string // before the command
}

// ErrMissing says that Git is not installed.
var ErrMissing = errors.New("Git is not installed on this machine")

// Find returns the installed Git. Error: ErrMissing.
func Find() (Git, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return Git{}, ErrMissing
	}
	return Git{path: path}, nil
}

// At returns the same Git for another folder.
func (g Git) At(dir string, args ...string) Git {
	g.Dir, g.args = dir, args
	return g
}

// Set returns the same Git with additional settings, name=value.
func (g Git) Set(settings ...string) Git {
	g.args = slices.Clone(g.args)
	for _, s := range settings {
		g.args = append(g.args, "-c", s)
	}
	return g
}

// With returns the same Git with additional variables, NAME=value.
func (g Git) With(env ...string) Git {
	g.env = append(slices.Clone(g.env), env...)
	return g
}

// Shell returns a line for a shell that runs a command with the settings of g.
func (g Git) Shell(command string) string {
	words := slices.Concat([]string{"env"}, g.env, []string{g.path}, quiet, g.args, []string{command})
	for i, w := range words {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// Error is a failure that Git reported.
type Error struct {
	Command string
	Text    string // for people
}

func (e *Error) Error() string { return "git " + e.Command + ": " + e.Text }

// Reason returns Git's message, or another error, for people.
func Reason(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Text
	}
	return err.Error()
}

func (g Git) command(ctx context.Context, args []string) *exec.Cmd {
	all := append(append(append([]string{}, quiet...), g.args...), args...)
	cmd := exec.CommandContext(ctx, g.path, all...)
	cmd.Dir, cmd.WaitDelay = g.Dir, 5*time.Second
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C", "LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_LITERAL_PATHSPECS=1", "GIT_ASKPASS=", "SSH_ASKPASS=",
		// Git appends these to the log of a reference, even through a link.
		"GIT_COMMITTER_NAME=Taskyard", "GIT_COMMITTER_EMAIL=taskyard@localhost",
	}, g.env...)
	return cmd
}

// Stream runs Git and passes its output to read. The error is a *Error, that of
// read, or the cause of ctx.
func (g Git) Stream(ctx context.Context, in io.Reader, read func(io.Reader) error, args ...string) error {
	within, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	cmd := g.command(within, args)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = in, &boundedWriter{buf: &stderr, remaining: 4096}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	reaped, err := tree.Begin(cmd)
	if err != nil {
		return err
	}
	defer reaped()
	readErr := read(out)
	if readErr != nil {
		stop() // the rest of its output is not needed
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case readErr != nil:
		return readErr
	case within.Err() != nil:
		return &Error{args[0], fmt.Sprintf("it took longer than %d s", int(callTime.Seconds()))}
	case err != nil:
		return &Error{args[0], errorText(stderr.String(), err)}
	}
	return nil
}

// Run runs Git and returns its output, which must be short, without the final
// newline.
func (g Git) Run(ctx context.Context, in io.Reader, args ...string) (string, error) {
	var b []byte
	err := g.Stream(ctx, in, func(r io.Reader) (err error) {
		b, err = io.ReadAll(io.LimitReader(r, 1<<20))
		return err
	}, args...)
	return strings.TrimSuffix(string(b), "\n"), err
}

// errorText returns Git's error message on one line.
func errorText(stderr string, err error) string {
	var list []string
	for line := range strings.Lines(stderr) {
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
	return task.ClipText(textdiff.Printable(strings.Join(list, " ")), 400)
}

// IsLocked reports whether Git failed because another process holds a lock.
func IsLocked(err error) bool {
	var e *Error
	return errors.As(err, &e) && strings.Contains(e.Text, ".lock") && strings.Contains(e.Text, "File exists")
}

// IsDiskFault reports whether Git could not write because a disk is full or
// read-only.
func IsDiskFault(err error) bool {
	var e *Error
	return errors.As(err, &e) && slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS}, func(cause error) bool {
		return strings.Contains(strings.ToLower(e.Text), cause.Error())
	})
}

// RetryLocked retries fn while a lock is held, for about 2 s.
func RetryLocked(ctx context.Context, fn func() error) error {
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		err := fn()
		if err == nil || !IsLocked(err) || wait > time.Second {
			return err
		}
		if !sleep.For(ctx, wait) {
			return context.Cause(ctx)
		}
	}
}

// boundedWriter keeps the beginning of what is written to it.
type boundedWriter struct {
	buf       *bytes.Buffer
	remaining int
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	n := min(len(p), b.remaining)
	b.buf.Write(p[:n])
	b.remaining -= n
	return len(p), nil
}

// EachName runs Git and calls each for every NUL-terminated name in its output.
// There may be as many names as the repository has files.
func (g Git) EachName(ctx context.Context, each func(string), args ...string) error {
	return g.Stream(ctx, nil, func(r io.Reader) error {
		return Names(r, func(s string) error {
			each(s)
			return nil
		})
	}, args...)
}

// List is like EachName, but returns all names.
func (g Git) List(ctx context.Context, args ...string) (list []string, err error) {
	err = g.EachName(ctx, func(s string) { list = append(list, s) }, args...)
	return list, err
}

// Names calls each for every NUL-terminated name.
func Names(r io.Reader, each func(string) error) error {
	in := bufio.NewReader(r)
	for {
		name, err := in.ReadString(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(strings.TrimSuffix(name, "\x00")); err != nil {
			return err
		}
	}
}
