package tree

import (
	"os"
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"
)

// family is what the server has started itself, and whether it takes in what
// lost its keeper.
var family struct {
	mu     sync.Mutex
	adopts bool
	own    map[int]bool
}

// Adopt makes this process the parent of what loses its keeper, so that Strays
// finds it. Every process that it starts from then on must be started by
// Begin. Call it once, first of all.
func Adopt() error {
	if err := BecomeKeeper(); err != nil {
		return err
	}
	family.mu.Lock()
	defer family.mu.Unlock()
	family.adopts = true
	return nil
}

// Begin starts a child of the server's own. Call done when it was waited for.
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

// Strays lists the living processes below this one that it did not start and
// that have no keeper any more, and buries the dead among them.
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
		found = append(append(found, p), Below(pid)...)
	}
	return found
}
