package tree

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// KillPass is the time between two looks at a tree that is being killed.
const KillPass = 20 * time.Millisecond

// Terminate asks every process politely. A stopped one is woken to hear it.
func Terminate(list []Proc) {
	for _, p := range list {
		p.Signal(unix.SIGTERM)
		p.Signal(unix.SIGCONT)
	}
}

// KillOnce kills what list finds. It stops the processes first, again and
// again until no new one turns up, so that a program that forks faster than
// it is killed cannot get away. It returns those it killed.
func KillOnce(list func() []Proc) []Proc {
	seen := map[Proc]bool{}
	for range 50 {
		fresh := false
		for _, p := range list() {
			key := Proc{PID: p.PID, Start: p.Start}
			if !seen[key] {
				seen[key], fresh = true, true
				p.Signal(unix.SIGSTOP)
			}
		}
		if !fresh {
			break
		}
	}
	killed := make([]Proc, 0, len(seen))
	for p := range seen {
		p.Signal(unix.SIGKILL)
		killed = append(killed, p)
	}
	return killed
}

// KillAll kills until list finds nothing more and all that it found is dead,
// and returns how many processes that were. On a busy machine the killed live
// on for a moment. It gives up when ctx ends, with the cause.
func KillAll(ctx context.Context, list func() []Proc) (int, error) {
	killed := map[Proc]bool{}
	for {
		pass := KillOnce(list)
		for _, p := range pass {
			killed[p] = true
		}
		if len(pass) == 0 && !anyAlive(killed) {
			return len(killed), nil
		}
		select {
		case <-ctx.Done():
			return len(killed), context.Cause(ctx)
		case <-time.After(KillPass):
		}
	}
}

func anyAlive(list map[Proc]bool) bool {
	for p := range list {
		if p.alive() {
			return true
		}
	}
	return false
}
