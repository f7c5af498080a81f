package runner

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"taskyard/task"
)

// proc is one line of the process table.
type proc struct {
	pid, ppid int
	start     string // kernel ticks since boot; tells a reused pid apart
	dead      bool   // a zombie: it runs no more and waits for its parent
}

// readProc reads /proc/PID/stat; false when there is no such process.
func readProc(pid int) (proc, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	// The name, in parentheses, may hold spaces and parentheses itself.
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return proc{}, false
	}
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 20 {
		return proc{}, false
	}
	ppid, err := strconv.Atoi(f[1])
	if err != nil {
		return proc{}, false
	}
	return proc{pid: pid, ppid: ppid, start: f[19], dead: f[0] == "Z" || f[0] == "X"}, true
}

// processes lists every process that can be seen.
func processes() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	list := make([]proc, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readProc(pid); ok {
			list = append(list, p)
		}
	}
	return list
}

// descendants lists the living processes below root, without root.
func descendants(root int) []proc {
	children := map[int][]proc{}
	for _, p := range processes() {
		children[p.ppid] = append(children[p.ppid], p)
	}
	var found []proc
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, p := range children[queue[0]] {
			queue = append(queue, p.pid)
			if !p.dead {
				found = append(found, p)
			}
		}
	}
	return found
}

// carriers lists the living processes that were started with the marks of the
// run, without this one. Without a yard there are none.
func carriers(runID task.ID) []proc {
	if yard() == "" || runID == 0 {
		return nil
	}
	run, mark := []byte(envRunID+"="+runID.String()), []byte(envYardID+"="+yard())
	var found []proc
	for _, p := range processes() {
		if !p.dead && p.pid != os.Getpid() && hasMarks(p.pid, run, mark) {
			found = append(found, p)
		}
	}
	return found
}

func hasMarks(pid int, marks ...[]byte) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	vars := bytes.Split(env, []byte{0})
	for _, mark := range marks {
		if !containsBytes(vars, mark) {
			return false
		}
	}
	return true
}

func containsBytes(list [][]byte, v []byte) bool {
	for _, x := range list {
		if bytes.Equal(x, v) {
			return true
		}
	}
	return false
}

// signal sends a signal to exactly this process, never to one that got its
// pid later.
func (p proc) signal(sig syscall.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		if errors.Is(err, unix.ENOSYS) && p.alive() {
			_ = unix.Kill(p.pid, sig)
		}
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if p.alive() {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

func (p proc) alive() bool {
	now, ok := readProc(p.pid)
	return ok && !now.dead && now.start == p.start
}

var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
})

// processOf names a child that has not been waited for.
func processOf(pid int) (Process, error) {
	p, ok := readProc(pid)
	if !ok {
		return Process{}, fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	return Process{PID: pid, Start: p.start, BootID: bootID()}, nil
}
