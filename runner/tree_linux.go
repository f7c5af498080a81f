package runner

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"taskyard/task"
)

const (
	killPass     = 20 * time.Millisecond // between two looks at a tree that is being killed
	killPatience = 20 * time.Second      // after which what cannot be killed is given up
)

// terminate asks every process politely. A stopped one is woken to hear it.
func terminate(list []proc) {
	for _, p := range list {
		p.signal(unix.SIGTERM)
		p.signal(unix.SIGCONT)
	}
}

// killOnce kills what list finds. It stops the processes first, again and
// again until no new one turns up, so that a program that forks faster than
// it is killed cannot get away. It returns those it killed.
func killOnce(list func() []proc) []proc {
	seen := map[proc]bool{}
	for range 50 {
		fresh := false
		for _, p := range list() {
			key := proc{pid: p.pid, start: p.start}
			if !seen[key] {
				seen[key], fresh = true, true
				p.signal(unix.SIGSTOP)
			}
		}
		if !fresh {
			break
		}
	}
	killed := make([]proc, 0, len(seen))
	for p := range seen {
		p.signal(unix.SIGKILL)
		killed = append(killed, p)
	}
	return killed
}

// killAll kills until list finds nothing more, and returns how many processes
// it killed. It gives up when ctx ends, with the cause.
func killAll(ctx context.Context, list func() []proc) (int, error) {
	killed := map[proc]bool{}
	for {
		pass := killOnce(list)
		for _, p := range pass {
			killed[p] = true
		}
		if len(pass) == 0 {
			return len(killed), nil
		}
		select {
		case <-ctx.Done():
			return len(killed), context.Cause(ctx)
		case <-time.After(killPass):
		}
	}
}

// KillOrphan kills what a former server left of a run: the tree of p, if p is
// still that very process, and every process that bears the marks of the run
// (see SetYard). It returns how many processes it killed. The error says that
// ctx ended while some were still alive.
func KillOrphan(ctx context.Context, p Process, runID task.ID) (killed int, err error) {
	return killAll(ctx, func() []proc { return append(treeOf(p), carriers(runID)...) })
}

// treeOf lists p and what is below it, if p is still the process it was.
func treeOf(p Process) []proc {
	if p.PID <= 1 || p.Start == "" || p.BootID == "" || p.BootID != bootID() {
		return nil
	}
	root, ok := readProc(p.PID)
	if !ok || root.start != p.Start {
		return nil
	}
	list := descendants(p.PID)
	if !root.dead {
		list = append(list, root)
	}
	return list
}
