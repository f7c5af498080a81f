package tree

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// KillPass is the interval between two passes over a tree that is being killed.
const KillPass = 20 * time.Millisecond

// Terminate sends SIGTERM to every process, and SIGCONT so that stopped ones
// receive it.
func Terminate(list []Proc) {
	for _, p := range list {
		p.Signal(unix.SIGTERM)
		p.Signal(unix.SIGCONT)
	}
}

// KillOnce kills the processes that list returns. It first stops them until no
// new ones appear, so that a program that forks faster than it is killed cannot
// escape. It returns the killed processes.
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

// KillAll kills until list returns nothing and all processes that it returned
// have ended, and returns how many there were. On a busy machine, killed
// processes take a moment to end. It gives up when ctx ends, with the cause.
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
