package tree

import (
	"os"
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"
)

// family tracks the processes that the server itself has started, and whether
// it adopts orphaned processes.
var family struct {
	mu     sync.Mutex
	adopts bool
	own    map[int]bool
}

// Adopt makes this process adopt processes that lose their keeper, so that
// Strays finds them. Every process that it starts from then on must be started
// by Begin. Call it once, before anything else.
func Adopt() error {
	if err := BecomeKeeper(); err != nil {
		return err
	}
	family.mu.Lock()
	defer family.mu.Unlock()
	family.adopts = true
	return nil
}

// Begin starts a child of the server itself. Call done after the child was
// waited for.
func Begin(cmd *exec.Cmd) (done func(), err error) {
	family.mu.Lock()
	defer family.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if family.own == nil {
		family.own = map[int]bool{}
	}
	pid := cmd.Process.Pid
	family.own[pid] = true
	return func() {
		family.mu.Lock()
		defer family.mu.Unlock()
		delete(family.own, pid)
	}, nil
}

// Strays lists the running descendants that this process did not start and that
// have no keeper any more, and reaps dead ones.
func Strays() []Proc {
	family.mu.Lock()
	defer family.mu.Unlock()
	if !family.adopts {
		return nil
	}
	var found []Proc
	for _, pid := range children(os.Getpid()) {
		p, ok := Read(pid)
		if !ok || family.own[pid] {
			continue
		}
		if p.Dead {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			continue
		}
		found = append(append(found, p), Descendants(pid)...)
	}
	return found
}
