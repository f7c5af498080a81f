package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"taskyard/runner/tree"
	"taskyard/task"
)

// killPatience is the time after which what cannot be killed is given up.
const killPatience = 20 * time.Second

// KillOrphan kills what a former server left of a run: the tree of p, if p is
// still that very process, and every process that bears the marks of the run
// (see SetYard). It returns how many processes it killed. The error says that
// ctx ended while some were still alive.
func KillOrphan(ctx context.Context, p Process, runID task.ID) (killed int, err error) {
	// The shim goes last: while it is there all others stay below it.
	below, err := tree.KillAll(ctx, func() []tree.Proc { return without(p.PID, append(treeOf(p), carriers(runID)...)) })
	if err != nil {
		return below, err
	}
	rest, err := tree.KillAll(ctx, func() []tree.Proc { return append(treeOf(p), carriers(runID)...) })
	return below + rest, err
}

func without(pid int, list []tree.Proc) []tree.Proc {
	return slices.DeleteFunc(list, func(p tree.Proc) bool { return p.PID == pid })
}

// Adopt makes this process the parent of agents' processes whose shim was
// killed, so that they are found and ended whatever they did to hide. It is
// for the program's main function alone: what else this process starts, other
// than by a Runner, may be taken for such a one. Error: the kernel refuses.
func Adopt() error { return tree.Adopt() }

// treeOf lists p and what is below it, if p is still the process it was.
func treeOf(p Process) []tree.Proc {
	if p.PID <= 1 || p.Start == "" || p.BootID == "" || p.BootID != tree.BootID() {
		return nil
	}
	root, ok := tree.Read(p.PID)
	if !ok || root.Start != p.Start {
		return nil
	}
	list := tree.Below(p.PID)
	if !root.Dead {
		list = append(list, root)
	}
	return list
}

// carriers lists the living processes that were started with the marks of the
// run, without this one. Without a yard there are none.
func carriers(runID task.ID) []tree.Proc {
	if yard() == "" || runID == 0 {
		return nil
	}
	return tree.Carriers(envRunID+"="+runID.String(), envYardID+"="+yard())
}

// processOf names a child that has not been waited for.
func processOf(pid int) (Process, error) {
	p, ok := tree.Read(pid)
	if !ok {
		return Process{}, fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	return Process{PID: pid, Start: p.Start, BootID: tree.BootID()}, nil
}
