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

// killPatience is how long to try to kill processes before giving up.
const killPatience = 20 * time.Second

// KillOrphan kills the remaining processes of a run after its server ended: the
// tree of p, if p is still the same process, and every process with the marks
// of the run (see SetInstance), of this instance or of p's: a server that
// stopped during a start has not recorded the process. It returns how many
// processes it killed. The error says that ctx ended while some were still
// running.
func KillOrphan(ctx context.Context, p Process, runID task.ID) (killed int, err error) {
	all := func() []tree.Proc {
		return append(processTree(p), processesOfRun(runID, cmp.Or(p.Instance, currentInstance()))...)
	}
	// Kill the shim last: while it runs, all others stay below it.
	if root, ok := findProcess(p); ok {
		root.Signal(unix.SIGSTOP)
		defer root.Signal(unix.SIGCONT) // in case it is left
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
// killed, so that they are found and stopped even if they tried to hide. Only
// the program's main function may call it: other child processes of this
// process, unless a Runner started them, may be mistaken for such a process. It
// returns an error if the kernel refuses.
func Adopt() error { return tree.Adopt() }

// processTree lists p and its descendants, if p is still the same process.
func processTree(p Process) []tree.Proc {
	root, ok := findProcess(p)
	if !ok {
		return nil
	}
	list := tree.Descendants(p.PID)
	if !root.Dead {
		list = append(list, root)
	}
	return list
}

// findProcess returns p, and whether it is still the same process.
func findProcess(p Process) (tree.Proc, bool) {
	if p.PID <= 1 || p.Start == "" || p.BootID == "" || p.BootID != tree.BootID() {
		return tree.Proc{}, false
	}
	root, ok := tree.Read(p.PID)
	return root, ok && root.Start == p.Start
}

// ProcessesOfRun lists the running processes with the marks of a run, except
// this one; none if no instance is set.
func ProcessesOfRun(runID task.ID) []tree.Proc {
	return processesOfRun(runID, currentInstance())
}

func processesOfRun(runID task.ID, instance string) []tree.Proc {
	if instance == "" || runID == 0 {
		return nil
	}
	return tree.Marked(envRunID+"="+runID.String(), envInstanceID+"="+instance)
}

// InstanceProcesses returns the PIDs of the running processes of an instance.
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
