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

// leftoverGrace bounds the time that processes get which outlive the program.
const leftoverGrace = 2 * time.Second

// programLimits are those of each process of a program. Data is left open:
// what programs reserve says little. The keeper counts what they hold.
var programLimits = tree.Limits{FileSize: 64 << 30, OpenFiles: 65_536}

// shim is the parent of one program: all that the program starts, in whatever
// session, ends up below it and cannot leave.
type shim struct {
	grace   time.Duration
	limits  tree.Limits
	census  tree.Census
	program *tree.Program
	status  *os.File         // to the server
	asks    chan byte        // from the lifeline and from signals
	report  report           // what will be said at the end
	rules   *confine.Rules   // which files the program may change; nil: any
	kill    <-chan time.Time // when patience with TERM ends
	pass    <-chan time.Time // when to look again while killing
	give    <-chan time.Time // when patience with KILL ends
	signals chan os.Signal   // from others; never end the shim itself
}

// ShimMain is the body of the hidden subcommand: it starts a program, keeps
// every process of it below itself, and ends them all when the program ends,
// when the server says so, or when the server is gone. args are the command
// line after ShimArg: the grace in milliseconds, the processor time of each
// process in seconds (0: any), rules as JSON where the program is to be
// confined, then the program and its arguments. It returns the exit code of the
// shim, not of the program.
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
		s.tell(report{End: tree.End{StartError: "the server is gone"}})
		return 1
	}
	s.rules = rules
	if err := s.start(args[2:]); err != nil {
		s.tell(report{End: tree.End{StartError: err.Error()}, Passing: passing(err)})
		return 1
	}
	s.tell(report{PID: s.program.PID})
	s.watch()
	s.report.Ended = true
	s.tell(s.report)
	return 0
}

// passing reports whether a program could not be started for lack of processes,
// memory or files, or because it is being replaced.
func passing(err error) bool {
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
		return nil, fmt.Errorf("%q is no grace", args[0])
	}
	limits := programLimits
	if limits.CPUSeconds, err = strconv.ParseUint(args[1], 10, 64); err != nil {
		return nil, fmt.Errorf("%q is no processor time", args[1])
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
		census:  tree.Census{Processes: maxProcesses, Memory: tree.MostMemory()},
		status:  os.NewFile(statusFD, "status"),
		asks:    make(chan byte),
		signals: make(chan os.Signal, 8),
	}
	// Caught, not ignored: what is ignored would stay so in the program.
	signal.Notify(s.signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGPIPE)
	return s, nil
}

// abandoned reports whether the lifeline has ended already. A shim whose server
// was killed before it came to life must not start anything: the next server
// may have looked for it in vain, and have started the run again.
func abandoned() bool {
	fds := []unix.PollFd{{Fd: lifelineFD, Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&unix.POLLHUP != 0
}

func (s *shim) tell(r report) {
	// When the server is gone nobody reads this, and nobody needs to.
	_ = json.NewEncoder(s.status).Encode(r)
}

// start makes the program, with less rights than this process, and begins to
// listen.
func (s *shim) start(argv []string) error {
	started := make(chan error)
	go func() {
		// What is taken here is taken from this thread only, and the program
		// dies with it: nothing else may ever run on it.
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
	defer tree.Yield()()
	if err := tree.Hide(); err != nil {
		return err
	}
	if err := s.limits.Set(); err != nil {
		return fmt.Errorf("limits: %w", err)
	}
	if err := tree.Alone(); err != nil {
		return fmt.Errorf("confine signals: %w", err)
	}
	broker, err := hold(s.rules)
	if err != nil {
		return fmt.Errorf("it cannot be confined: %w", err)
	}
	if broker != nil {
		go broker.Serve()
	}
	s.program, err = tree.Start(argv[0], argv, []uintptr{0, 1, 2})
	return err
}

// listen passes on what the lifeline says. Its end means that the server died.
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

// watch returns when nothing is left below the shim, or what is left cannot
// be killed.
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
			// An end that came first stays the program's own.
			s.report.Stopped = s.report.Stopped || running && len(s.program.Exits) == 0
			s.asked(ask)
		case sig := <-s.signals:
			if sig != unix.SIGPIPE {
				s.asked(askTerm)
			}
		case <-look.C:
			s.count()
		case <-s.kill:
			s.asked(askKill)
		case <-s.pass:
			s.killPass()
		case <-s.give:
			s.report.Survivors = len(tree.Below(os.Getpid()))
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
	if left := tree.Below(os.Getpid()); len(left) > 0 {
		s.report.Leftover = len(left)
		tree.Terminate(left)
	}
	s.kill = time.After(min(s.grace, leftoverGrace))
}

// asked begins to end the tree; asking again changes nothing, but for KILL
// after TERM.
func (s *shim) asked(ask byte) {
	switch {
	case s.pass != nil:
	case ask == askKill:
		s.kill, s.give = nil, time.After(killPatience)
		s.killPass()
	case s.kill == nil:
		s.kill = time.After(s.grace)
		tree.Terminate(tree.Below(os.Getpid()))
	}
}

// count ends a tree that is larger than a program may be.
func (s *shim) count() {
	if s.report.Over != "" || s.pass != nil {
		return
	}
	if s.report.Over = s.census.Look(); s.report.Over != "" {
		s.asked(askKill)
	}
}

func (s *shim) killPass() {
	tree.KillOnce(func() []tree.Proc { return tree.Below(os.Getpid()) })
	s.pass = time.After(tree.KillPass)
}
