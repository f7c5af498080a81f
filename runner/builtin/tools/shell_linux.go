package tools

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"taskyard/runner/instance"
	"taskyard/runner/scratch"
	"taskyard/runner/tree"
)

// killWait is how long a keeper may take to end its command before it is killed
// itself.
const killWait = 15 * time.Second

// shell runs a command under a keeper, which is a separate process between the
// server and bash, and returns when all processes of the command have ended.
func (b *Box) shell(ctx context.Context, a bashArgs) (Result, error) {
	private, err := b.privateFolder()
	if err != nil {
		return Result{}, fmt.Errorf("bash could not be started: %w", err)
	}
	since, err := mark(private)
	if err != nil {
		return Result{}, fmt.Errorf("bash could not be started: %w", err)
	}
	timed, cancel := context.WithTimeout(ctx, a.wait())
	defer cancel()
	var out output
	end, err := b.runKept(timed, a.Command, private, &out)
	r := Result{Files: b.changedSince(since)}
	if err != nil {
		return r, err
	}
	if end.StartError != "" {
		return r, fmt.Errorf("bash could not be started: %s", end.StartError)
	}
	r.Text, r.IsError = verdict(out.text(), end, a, end.Stopped && ctx.Err() != nil)
	return r, nil
}

// Exec runs a command as bash does, until ctx ends, and writes its output to
// out. It returns an error if the command could not be run.
func (b *Box) Exec(ctx context.Context, command string, out io.Writer) (tree.End, error) {
	if why := refusedShell(b.opts); why != "" {
		return tree.End{}, errors.New(why)
	}
	private, err := b.privateFolder()
	if err != nil {
		return tree.End{}, err
	}
	end, err := b.runKept(ctx, command, private, out)
	if err == nil && end.StartError != "" {
		err = errors.New(end.StartError)
	}
	return end, err
}

// verdict appends to an output how the command ended.
func verdict(text string, end tree.End, a bashArgs, stopped bool) (string, bool) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	bad := true
	switch {
	case stopped:
		text += "[" + errStopped.Error() + "]\n"
	case end.Over != "":
		text += "[ended: the command had " + end.Over + "]\n"
	case end.Stopped:
		text += fmt.Sprintf("[ended after %v: give timeout (%d at most), or part the work]\n", a.wait(), maxShellSeconds)
	case end.Signal != 0:
		text += fmt.Sprintf("[killed by signal %d (%v)]\n", end.Signal, syscall.Signal(end.Signal))
	case end.Code != 0:
		text += fmt.Sprintf("[exit code %d]\n", end.Code)
	default:
		bad = false
	}
	if end.Leftover > 0 {
		text += fmt.Sprintf("[%s that it left running were ended]\n", processes(end.Leftover))
	}
	if end.Survivors > 0 {
		text += fmt.Sprintf("[%s could not be killed]\n", processes(end.Survivors))
	}
	return cmp.Or(text, "[no output, exit code 0]\n"), bad
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return count(n) + " processes"
}

// privateFolder creates HOME and TMPDIR once for all commands of the box.
func (b *Box) privateFolder() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.private != nil {
		return b.private.Path, nil
	}
	if b.opts.Private != "" {
		return b.opts.Private, nil
	}
	dir, err := scratch.New("shell")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir.Path, name), 0o700); err != nil {
			return "", errors.Join(err, dir.Remove(context.Background()))
		}
	}
	b.private = dir
	return dir.Path, nil
}

// environment returns the environment of a command: only PATH comes from the
// server.
func (b *Box) environment(private string, j job) []string {
	env := append([]string{}, b.opts.Env...)
	return append(env, j.Mark, "PATH="+pathWithin(os.Getenv("PATH"), j.Readable), "LANG=C.UTF-8", "TERM=dumb",
		"HOME="+filepath.Join(private, "home"), "TMPDIR="+filepath.Join(private, "tmp"))
}

// pathWithin returns PATH without the folders that a command cannot read, so
// that a program in them does not hide that of the system.
func pathWithin(path string, readable []string) string {
	var kept []string
	for _, dir := range filepath.SplitList(path) {
		resolved, err := filepath.EvalSymlinks(dir)
		if err == nil && filepath.IsAbs(dir) &&
			slices.ContainsFunc(readable, func(r string) bool { return resolved == r || strings.HasPrefix(resolved, r+"/") }) {
			kept = append(kept, dir)
		}
	}
	if len(kept) == 0 {
		return "/usr/local/bin:/usr/bin:/bin"
	}
	return strings.Join(kept, ":")
}

// job describes a command and its confinement.
func (b *Box) job(command, private string) job {
	c := chooseShell(b.opts)
	j := job{
		Argv: []string{shellFile(), "-c", command}, Dir: b.places[0], Landlock: c.Landlock, Seccomp: c.Seccomp, Network: b.opts.Network,
		Broker: c.Landlock > 0 && c.Attributes, Bwrap: c.bwrap != "",
		Writable:  []string{b.places[0], filepath.Join(private, "home"), filepath.Join(private, "tmp")},
		Readable:  append(systemFolders(), b.opts.ReadOnly...),
		Processes: cmp.Or(b.opts.processes, maxProcesses),
		Mark:      "TASKYARD_SHELL_ID=" + rand.Text(),
	}
	if c.bwrap != "" {
		j.Argv = bubblewrapped(c.bwrap, j)
	}
	return j
}

// shellFile returns bash, or else the standard shell.
func shellFile() string {
	if path, err := exec.LookPath("bash"); err == nil {
		return path
	}
	return "/bin/sh"
}

// runKept starts a keeper for a command, reads the output, and asks it to end the
// command when ctx ends.
func (b *Box) runKept(ctx context.Context, command, private string, out io.Writer) (end tree.End, err error) {
	j := b.job(command, private)
	var p [6]*os.File // output, job, report: read and write ends
	for i := 0; i < len(p); i += 2 {
		if p[i], p[i+1], err = os.Pipe(); err != nil {
			closeFiles(p[:])
			return end, err
		}
	}
	output, job, report := p[0], p[3], p[4]
	path, args := tree.KeeperCommand(b.opts.ShellStart, ToolShellArg)
	cmd := &exec.Cmd{
		Path: path, Args: args, Env: b.environment(private, j), Dir: j.Dir, Stdout: p[1], Stderr: p[1], ExtraFiles: []*os.File{p[2], p[5]},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	reaped, err := tree.Begin(cmd)
	closeFiles([]*os.File{p[1], p[2], p[5]})
	if err != nil {
		closeFiles([]*os.File{output, job, report})
		return end, fmt.Errorf("bash could not be started: %w", err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(out, output)
	}()
	end, err = waitReport(ctx, cmd, job, report, j)
	reaped()
	_ = output.SetReadDeadline(time.Now().Add(time.Second)) // surviving processes may hold it open
	<-read
	closeFiles([]*os.File{output, report})
	return end, err
}

// waitReport waits for the report of a keeper and for its end.
func waitReport(ctx context.Context, cmd *exec.Cmd, lifeline, report *os.File, j job) (end tree.End, err error) {
	decoded := make(chan error, 1)
	go func() { decoded <- json.NewDecoder(report).Decode(&end) }()
	_ = lifeline.SetWriteDeadline(time.Now().Add(killWait))
	_ = json.NewEncoder(lifeline).Encode(j) // an ended keeper is noticed below
	select {
	case err = <-decoded:
		_ = lifeline.Close()
	case <-ctx.Done():
		_ = lifeline.Close()
		_ = report.SetReadDeadline(time.Now().Add(killWait))
		err = <-decoded
	}
	if err != nil {
		_ = cmd.Process.Kill() // the command dies with it, but not its descendants
		err = errors.New("bash was lost: its keeper was killed, or did not end in time")
	}
	_ = cmd.Wait()
	killStrays(j.Mark)
	return end, err
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// mark returns the current time of the file system, taken from a new file.
func mark(dir string) (nanoseconds int64, err error) {
	name := filepath.Join(dir, "mark")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return 0, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return instance.Identify(info).Touched, os.Remove(name)
}

// The bounds of the search for changed files after a command.
const (
	changedTime = 10 * time.Second
	maxChanged  = 1000 // files that are found
)

// changedSince returns the files that were created or changed, sorted: at most
// maxFiles of those found within the bounds. Removed files are not found.
func (b *Box) changedSince(nanoseconds int64) []string {
	var names []string
	ctx, cancel := context.WithTimeout(context.Background(), changedTime)
	defer cancel()
	_, _ = b.walk(ctx, ".", func(name string, e fs.DirEntry) error {
		if info, err := b.root.Lstat(name); err == nil && instance.Identify(info).Touched >= nanoseconds {
			names = append(names, name)
		}
		if len(names) >= maxChanged {
			return errEnough
		}
		return nil
	})
	slices.Sort(names)
	return names[:min(len(names), maxFiles)]
}
