package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"taskyard/runner/confine"
)

// leftoverGrace bounds the time that processes get which outlive the program.
const leftoverGrace = 2 * time.Second

// shim is the parent of one program: all that the program starts, in whatever
// session, ends up below it and cannot leave.
type shim struct {
	grace   time.Duration
	main    int              // pid of the program
	status  *os.File         // to the server
	asks    chan byte        // from the lifeline and from signals
	exits   chan mainExit    // the program has ended
	empty   chan struct{}    // closed when nothing is left below
	report  report           // what will be said at the end
	rules   *confine.Rules   // which files the program may change; nil: any
	kill    <-chan time.Time // when patience with TERM ends
	pass    <-chan time.Time // when to look again while killing
	give    <-chan time.Time // when patience with KILL ends
	signals chan os.Signal   // from others; never end the shim itself
}

type mainExit struct{ status unix.WaitStatus }

// ShimMain is the body of the hidden subcommand: it starts a program, keeps
// every process of it below itself, and ends them all when the program ends,
// when the server says so, or when the server is gone. args are the command
// line after ShimArg: the grace in milliseconds, rules as JSON where the program
// is to be confined, then the program and its arguments. It returns the exit
// code of the shim, not of the program.
func ShimMain(args []string) (exitCode int) {
	if len(args) > 0 && args[0] == shellArg {
		return shellMain(args[1:])
	}
	// The program gets a death signal that is bound to this very thread.
	runtime.LockOSThread()
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
		s.tell(report{StartError: "the server is gone"})
		return 1
	}
	s.rules = rules
	if err := s.start(args[1:]); err != nil {
		s.tell(report{StartError: err.Error()})
		return 1
	}
	s.tell(report{PID: s.main})
	s.watch()
	s.report.Ended = true
	s.tell(s.report)
	return 0
}

func newShim(args []string) (*shim, error) {
	if len(args) < 2 {
		return nil, errors.New("no program is named")
	}
	ms, err := strconv.Atoi(args[0])
	if err != nil || ms < 0 {
		return nil, fmt.Errorf("%q is no grace", args[0])
	}
	for _, fd := range []int{lifelineFD, statusFD} {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
			return nil, fmt.Errorf("file descriptor %d is no pipe", fd)
		}
		unix.CloseOnExec(fd)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("cannot become a sub-reaper: %w", err)
	}
	s := &shim{
		grace:   time.Duration(ms) * time.Millisecond,
		status:  os.NewFile(statusFD, "status"),
		asks:    make(chan byte),
		exits:   make(chan mainExit, 1),
		empty:   make(chan struct{}),
		signals: make(chan os.Signal, 8),
	}
	// Caught, not ignored: what is ignored would stay so in the program.
	signal.Notify(s.signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGPIPE)
	return s, nil
}

// abandoned tells whether the lifeline has ended already. A shim whose server
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

// start makes the program, in a session of its own, and lets go of its pipes,
// so that their other ends see when it closes them.
func (s *shim) start(argv []string) error {
	if err := hold(s.rules); err != nil {
		return fmt.Errorf("it cannot be confined: %w", err)
	}
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return err
	}
	s.main = pid
	if null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		for fd := range 3 {
			_ = unix.Dup3(null, fd, 0)
		}
	}
	go s.reap()
	go s.listen(os.NewFile(lifelineFD, "lifeline"))
	return nil
}

// reap waits for all that ends below the shim, until there is nothing left.
func (s *shim) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // ECHILD
			close(s.empty)
			return
		case pid == s.main:
			s.exits <- mainExit{status}
		}
	}
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
	ended, running := s.empty, true
	for {
		select {
		case exit := <-s.exits:
			running = false
			s.mainEnded(exit.status)
		case ask := <-s.asks:
			// An end that came first stays the program's own.
			s.report.Stopped = s.report.Stopped || running && len(s.exits) == 0
			s.asked(ask)
		case sig := <-s.signals:
			if sig != unix.SIGPIPE {
				s.asked(askTerm)
			}
		case <-s.kill:
			s.asked(askKill)
		case <-s.pass:
			s.killPass()
		case <-s.give:
			s.report.Survivors = len(descendants(os.Getpid()))
			return
		case <-ended:
			if running {
				s.mainEnded((<-s.exits).status)
			}
			return
		}
	}
}

func (s *shim) mainEnded(status unix.WaitStatus) {
	if status.Signaled() {
		s.report.Signal = int(status.Signal())
	} else {
		s.report.Code = status.ExitStatus()
	}
	if s.kill != nil || s.pass != nil {
		return
	}
	if left := descendants(os.Getpid()); len(left) > 0 {
		s.report.Leftover = len(left)
		terminate(left)
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
		terminate(descendants(os.Getpid()))
	}
}

func (s *shim) killPass() {
	killOnce(func() []proc { return descendants(os.Getpid()) })
	s.pass = time.After(killPass)
}
