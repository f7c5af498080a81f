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
	"time"

	"golang.org/x/sys/unix"

	"taskyard/runner/confine"
	"taskyard/runner/tree"
)

// The file descriptors of a keeper, in addition to those of the command.
const (
	jobFD    = 3
	reportFD = 4
	brokerFD = 5 // second stage only: a socket that receives the listener of its filter
)

// enterArg makes the binary the second stage: the process that confines itself
// and then becomes bash.
const enterArg = "enter"

const killUntil = 10 * time.Second

// ToolShellMain runs the hidden subcommand. Without arguments, it is the keeper
// of one command: everything that the command starts, in any session, remains
// its descendant, and is killed when the command ends, when the server asks for
// it, or when the server has ended. It returns the exit code of the keeper.
func ToolShellMain(args []string) (exitCode int) {
	// The parent death signal of the child is bound to this thread, as are the
	// changes that the second stage makes to itself.
	runtime.LockOSThread()
	if err := tree.Pipes(jobFD, reportFD); err != nil {
		fmt.Fprintln(os.Stderr, "taskyard: "+ToolShellArg+" is started by the server only:", err)
		return 2
	}
	if len(args) > 0 && args[0] == enterArg {
		unix.CloseOnExec(brokerFD)
		return runSecondStage()
	}
	k := &keeper{ends: make(chan os.Signal, 4)}
	if err := k.run(); err != nil {
		k.end.StartError = err.Error()
	}
	_ = json.NewEncoder(os.NewFile(reportFD, "report")).Encode(k.end)
	return 0
}

// keeper is the parent of one command.
type keeper struct {
	job     job
	command *tree.Program
	ends    chan os.Signal // a signal from the server or another process to end
	end     tree.End
}

func (k *keeper) run() error {
	jobs := os.NewFile(jobFD, "job")
	if err := json.NewDecoder(jobs).Decode(&k.job); err != nil {
		return fmt.Errorf("the job cannot be read: %w", err)
	}
	if err := tree.BecomeKeeper(); err != nil {
		return err
	}
	if err := tree.Hide(); err != nil {
		return err
	}
	signal.Notify(k.ends, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM)
	if err := k.start(); err != nil {
		return err
	}
	go k.command.Reap()
	go func() {
		_, _ = io.Copy(io.Discard, jobs)
		k.ends <- unix.SIGTERM
	}()
	k.watch()
	return nil
}

// start starts the second stage and returns when it has become the command, or
// why it could not.
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
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	k.command, err = tree.Start("/proc/self/exe", []string{"taskyard", ToolShellArg, enterArg},
		[]uintptr{null.Fd(), 1, 2, jobR.Fd(), failW.Fd(), uintptr(pair[1])})
	closeFiles([]*os.File{jobR, failW, null})
	_ = unix.Close(pair[1])
	defer func() { _ = unix.Close(pair[0]) }()
	if err != nil {
		return err
	}
	_ = json.NewEncoder(jobW).Encode(k.job)
	_ = jobW.Close()
	why, _ := io.ReadAll(io.LimitReader(failR, 4096))
	_ = failR.Close()
	if len(why) > 0 {
		_, _ = unix.Wait4(k.command.PID, nil, 0, nil)
		return errors.New(strings.TrimSpace(string(why)))
	}
	if !k.job.Broker {
		return nil
	}
	listener, err := receive(pair[0])
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	go confine.NewBroker(listener, k.job.Writable).Serve()
	return nil
}

// receive receives one file descriptor from a socket.
func receive(socket int) (fd int, err error) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	list, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(list) != 1 {
		return -1, errors.Join(err, errors.New("no file came"))
	}
	fds, err := unix.ParseUnixRights(&list[0])
	if err != nil || len(fds) != 1 {
		return -1, errors.Join(err, errors.New("no file came"))
	}
	return fds[0], nil
}

// watch returns when no descendants are left, or the remaining ones cannot be
// killed.
func (k *keeper) watch() {
	look := time.NewTicker(tree.CensusEvery)
	census := tree.Census{Processes: k.job.Processes, Memory: tree.MaxMemory()}
	defer look.Stop()
	for {
		select {
		case status := <-k.command.Exits:
			k.end.Exited(status)
			k.end.Leftover = len(descendants())
			k.killAll()
			return
		case <-k.ends:
			k.end.Stopped = true
			k.killAll()
			return
		case <-look.C:
			if k.end.Over = census.Look(); k.end.Over != "" {
				k.killAll()
				return
			}
		}
	}
}

// killAll kills until no descendants are left.
func (k *keeper) killAll() {
	again := time.NewTicker(tree.KillPass)
	defer again.Stop()
	give := time.After(killUntil)
	for {
		tree.KillOnce(descendants)
		select {
		case <-k.command.Empty:
			return
		case <-again.C:
		case <-give:
			k.end.Survivors = len(descendants())
			return
		}
	}
}
