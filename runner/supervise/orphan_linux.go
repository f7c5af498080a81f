package supervise

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"taskyard/runner/tree"
	"taskyard/task"
)

// killPatience is the time after which what cannot be killed is given up.
const killPatience = 20 * time.Second

// KillOrphan kills what a former server left of a run: the tree of p, if p is
// still that very process, and every process that has the marks of the run
// (see SetInstance), of this instance or of p's: a server that stopped in the middle of a
// start has not noted the process. It returns how many processes it killed. The error says that
// ctx ended while some were still alive.
func KillOrphan(ctx context.Context, p Process, runID task.ID) (killed int, err error) {
	all := func() []tree.Proc {
		return append(processTree(p), processesOfRun(runID, cmp.Or(p.Instance, currentInstance()))...)
	}
	// The shim goes last: while it is there all others stay below it.
	if root, ok := findProcess(p); ok {
		root.Signal(unix.SIGSTOP)
		defer root.Signal(unix.SIGCONT) // should it be left after all
	}
	killed, err = tree.KillAll(ctx, func() []tree.Proc {
		return slices.DeleteFunc(all(), func(q tree.Proc) bool { return q.PID == p.PID && q.Start == p.Start })
	})
	if err != nil {
		return killed, err
	}
	last, err := tree.KillAll(ctx, all)
	return killed + last, err
}

// Adopt makes this process the parent of agents' processes whose shim was
// killed, so that they are found and ended whatever they did to hide. It is
// only for the program's main function: what else this process starts, other
// than by a Runner, may be taken for such a one. Error: the kernel refuses.
func Adopt() error { return tree.Adopt() }

// processTree lists p and what is below it, if p is still the process it was.
func processTree(p Process) []tree.Proc {
	root, ok := findProcess(p)
	if !ok {
		return nil
	}
	list := tree.Below(p.PID)
	if !root.Dead {
		list = append(list, root)
	}
	return list
}

// findProcess returns p, and whether it is still the process it was.
func findProcess(p Process) (tree.Proc, bool) {
	if p.PID <= 1 || p.Start == "" || p.BootID == "" || p.BootID != tree.BootID() {
		return tree.Proc{}, false
	}
	root, ok := tree.Read(p.PID)
	return root, ok && root.Start == p.Start
}

// ProcessesOfRun lists the living processes that were started with the marks of a
// run, without this one; none if no instance is set.
func ProcessesOfRun(runID task.ID) []tree.Proc {
	return processesOfRun(runID, currentInstance())
}

func processesOfRun(runID task.ID, instance string) []tree.Proc {
	if instance == "" || runID == 0 {
		return nil
	}
	return tree.Marked(envRunID+"="+runID.String(), envInstanceID+"="+instance)
}

// InstanceProcesses lists the ids of the living processes of an instance.
func InstanceProcesses(instance string) (pids []int) {
	for _, p := range tree.Marked(envInstanceID + "=" + instance) {
		pids = append(pids, p.PID)
	}
	return pids
}

// processFromPID identifies a child that has not been waited for.
func processFromPID(pid int) (Process, error) {
	p, ok := tree.Read(pid)
	if !ok {
		return Process{}, fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	return Process{PID: pid, Start: p.Start, BootID: tree.BootID()}, nil
}
