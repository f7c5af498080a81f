package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"taskyard/runner/confine"
	"taskyard/runner/tree"
)

// leftoverGrace is how long processes that outlive the program may take to end.
const leftoverGrace = 2 * time.Second

// programLimits apply to each process of a program. Data is not limited,
// because reserved memory says little; the keeper measures actual use.
var programLimits = tree.Limits{FileSize: 64 << 30, OpenFiles: 65_536}

// shim is the parent of one program. All processes that the program starts, in
// any session, remain below it.
type shim struct {
	grace   time.Duration
	limits  tree.Limits
	census  tree.Census
	program *tree.Program
	status  *os.File         // to the server
	asks    chan byte        // from the lifeline and from signals
	report  report           // sent at the end
	rules   *confine.Rules   // which files the program may change; nil: any
	kill    <-chan time.Time // when SIGTERM has had enough time
	pass    <-chan time.Time // next pass while killing
	give    <-chan time.Time // when to give up on SIGKILL
	signals chan os.Signal   // from outside; they never end the shim itself
}

// ShimMain runs the hidden subcommand: it starts a program, keeps all of its
// processes below itself, and ends them when the program ends, when the server
// asks for it, or when the server has ended. args are the command line after
// ShimArg: the grace period in milliseconds, the CPU time of each process in
// seconds (0: unlimited), rules as JSON if the program is confined, then the
// program and its arguments. It returns the exit code of the shim, not of the
// program.
func ShimMain(args []string) (exitCode int) {
	if len(args) > 0 && args[0] == shellArg {
		return shellMain(args[1:])
	}
	rules, args, err := takeRules(args)
	var s *shim
	if err == nil {
		s, err = newShim(args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "taskyard: "+ShimArg+" is started by the server only:", err)
		return 2
	}
	if abandoned() {
		s.send(report{End: tree.End{StartError: "the server is gone"}})
		return 1
	}
	s.rules = rules
	if err := s.start(args[2:]); err != nil {
		s.send(report{End: tree.End{StartError: err.Error()}, Transient: isTransient(err)})
		return 1
	}
	s.send(report{PID: s.program.PID})
	s.watch()
	s.report.Ended = true
	s.send(s.report)
	return 0
}

// isTransient reports whether a program could not be started due to a lack of
// processes, memory or files, or because it is being replaced.
func isTransient(err error) bool {
	var no syscall.Errno
	return errors.As(err, &no) && slices.Contains([]syscall.Errno{
		syscall.EAGAIN, syscall.ENOMEM, syscall.ENFILE, syscall.EMFILE, syscall.ETXTBSY,
	}, no)
}

func newShim(args []string) (*shim, error) {
	if len(args) < 3 {
		return nil, errors.New("no program is named")
	}
	ms, err := strconv.Atoi(args[0])
	if err != nil || ms < 0 {
		return nil, fmt.Errorf("%q is not a grace period", args[0])
	}
	limits := programLimits
	if limits.CPUSeconds, err = strconv.ParseUint(args[1], 10, 64); err != nil {
		return nil, fmt.Errorf("%q is not a processor time", args[1])
	}
	if err := tree.Pipes(lifelineFD, statusFD); err != nil {
		return nil, err
	}
	if err := tree.BecomeKeeper(); err != nil {
		return nil, err
	}
	s := &shim{
		grace:   time.Duration(ms) * time.Millisecond,
		limits:  limits,
		census:  tree.Census{Processes: maxProcesses, Memory: tree.MaxMemory()},
		status:  os.NewFile(statusFD, "status"),
		asks:    make(chan byte),
		signals: make(chan os.Signal, 8),
	}
	// Catch them instead of ignoring them: the program would inherit ignored
	// signals.
	signal.Notify(s.signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGPIPE)
	return s, nil
}

// abandoned reports whether the lifeline is already closed. A shim whose server
// was killed while it was starting must not start anything: the next server may
// have looked for it in vain and started the run again.
func abandoned() bool {
	fds := []unix.PollFd{{Fd: lifelineFD, Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&unix.POLLHUP != 0
}

func (s *shim) send(r report) {
	// Nobody reads this after the server has ended.
	_ = json.NewEncoder(s.status).Encode(r)
}

// start starts the program, with fewer rights than this process, and begins to
// listen.
func (s *shim) start(argv []string) error {
	started := make(chan error)
	go func() {
		// The restrictions apply only to this thread, and the program dies with
		// it: nothing else may ever run on it.
		runtime.LockOSThread()
		started <- s.make(argv)
		select {}
	}()
	if err := <-started; err != nil {
		return err
	}
	go s.program.Reap()
	go s.listen(os.NewFile(lifelineFD, "lifeline"))
	return nil
}

func (s *shim) make(argv []string) (err error) {
	defer tree.LowerPriority()()
	if err := tree.Hide(); err != nil {
		return err
	}
	if err := s.limits.Set(); err != nil {
		return fmt.Errorf("limits: %w", err)
	}
	if err := tree.Isolate(); err != nil {
		return fmt.Errorf("confine signals: %w", err)
	}
	broker, err := confineThread(s.rules)
	if err != nil {
		return fmt.Errorf("it cannot be confined: %w", err)
	}
	if broker != nil {
		go broker.Serve()
	}
	s.program, err = tree.Start(argv[0], argv, []uintptr{0, 1, 2})
	return err
}

// listen passes on the bytes of the lifeline. Its end means that the server has
// died.
func (s *shim) listen(lifeline *os.File) {
	b := make([]byte, 1)
	for {
		n, err := lifeline.Read(b)
		if n == 1 {
			s.asks <- b[0]
		}
		if err != nil {
			s.asks <- askTerm
			return
		}
	}
}

// watch returns when no descendants are left, or the remaining ones cannot be
// killed.
func (s *shim) watch() {
	running := true
	look := time.NewTicker(tree.CensusEvery)
	defer look.Stop()
	for {
		select {
		case status := <-s.program.Exits:
			running = false
			s.mainEnded(status)
		case ask := <-s.asks:
			// If the program ended first, it was not stopped.
			s.report.Stopped = s.report.Stopped || running && len(s.program.Exits) == 0
			s.handleRequest(ask)
		case sig := <-s.signals:
			if sig != unix.SIGPIPE {
				s.handleRequest(askTerm)
			}
		case <-look.C:
			s.count()
		case <-s.kill:
			s.handleRequest(askKill)
		case <-s.pass:
			s.killPass()
		case <-s.give:
			s.report.Survivors = len(tree.Descendants(os.Getpid()))
			return
		case <-s.program.Empty:
			if running {
				s.mainEnded(<-s.program.Exits)
			}
			return
		}
	}
}

func (s *shim) mainEnded(status unix.WaitStatus) {
	s.report.Exited(status)
	if s.kill != nil || s.pass != nil {
		return
	}
	if left := tree.Descendants(os.Getpid()); len(left) > 0 {
		s.report.Leftover = len(left)
		tree.Terminate(left)
	}
	s.kill = time.After(min(s.grace, leftoverGrace))
}

// handleRequest begins to end the tree; repeated requests have no effect, except KILL
// after TERM.
func (s *shim) handleRequest(ask byte) {
	switch {
	case s.pass != nil:
	case ask == askKill:
		s.kill, s.give = nil, time.After(killPatience)
		s.killPass()
	case s.kill == nil:
		s.kill = time.After(s.grace)
		tree.Terminate(tree.Descendants(os.Getpid()))
	}
}

// count ends a tree that exceeds the process or memory limit.
func (s *shim) count() {
	if s.report.Over != "" || s.pass != nil {
		return
	}
	if s.report.Over = s.census.Look(); s.report.Over != "" {
		s.handleRequest(askKill)
	}
}

func (s *shim) killPass() {
	tree.KillOnce(func() []tree.Proc { return tree.Descendants(os.Getpid()) })
	s.pass = time.After(tree.KillPass)
}
