package tree

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Proc is an entry of the process table.
type Proc struct {
	PID, Parent int
	Start       string // kernel ticks since boot; distinguishes a reused PID
	Dead        bool   // a zombie: it has ended and waits for its parent
}

// Read parses /proc/PID/stat; ok is false if there is no such process.
func Read(pid int) (Proc, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Proc{}, false
	}
	// The name, in parentheses, may itself contain spaces and parentheses.
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return Proc{}, false
	}
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 20 {
		return Proc{}, false
	}
	parent, err := strconv.Atoi(f[1])
	if err != nil {
		return Proc{}, false
	}
	// A process whose first thread has ended looks like a zombie while other
	// threads run.
	dead := (f[0] == "Z" || f[0] == "X") && (f[17] == "0" || f[17] == "1")
	return Proc{PID: pid, Parent: parent, Start: f[19], Dead: dead}, true
}

// pids lists all visible processes.
func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	list := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// beginning is how long Marked waits for processes that have no environment
// yet.
const beginning = time.Second

// Marked lists the running processes, except this one, that were started with
// all of the marks, each NAME=value, in their environment.
func Marked(marks ...string) []Proc {
	until := time.Now().Add(beginning)
	var found []Proc
	for _, pid := range pids() {
		if pid == os.Getpid() || !hasMarks(pid, marks, until) {
			continue
		}
		if p, ok := Read(pid); ok && !p.Dead {
			found = append(found, p)
		}
	}
	return found
}

func hasMarks(pid int, marks []string, until time.Time) bool {
	env := environ("/proc/"+strconv.Itoa(pid), until)
	if len(env) == 0 {
		return false
	}
	env = append([]byte{0}, env...)
	for _, mark := range marks {
		if !bytes.Contains(env, []byte("\x00"+mark+"\x00")) {
			return false
		}
	}
	return true
}

// environ returns the initial environment of a process. If its first thread has
// ended, another one has it. During exec, the environment is missing for a
// moment, so it is read again until the deadline.
func environ(proc string, until time.Time) []byte {
	settled := false
	for {
		env, err := os.ReadFile(proc + "/environ")
		if err != nil || len(env) > 0 {
			return env
		}
		tasks, _ := os.ReadDir(proc + "/task")
		for _, t := range tasks[min(1, len(tasks)):] {
			if env, _ = os.ReadFile(proc + "/task/" + t.Name() + "/environ"); len(env) > 0 {
				return env
			}
		}
		// A read may fall between the moments when the kernel sets the
		// beginning and the end of the environment, so only a second read
		// counts.
		switch {
		case isStarting(proc):
			settled = false
		case settled:
			return nil
		default:
			settled = true
			continue
		}
		if time.Now().After(until) {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

// isStarting reports whether a process has memory, but no environment yet, or one
// by now. Kernel threads and dead processes have no memory; a process that was
// started without variables has an empty environment at some address.
func isStarting(proc string) bool {
	b, err := os.ReadFile(proc + "/stat")
	if err != nil {
		return false
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	const size, envStart, envEnd = 20, 47, 48
	if len(f) <= envEnd || f[size] == "0" {
		return false
	}
	return f[envEnd] == "0" || f[envStart] != f[envEnd]
}

// Signal sends a signal to exactly this process, never to one that reused its
// PID.
func (p Proc) Signal(sig syscall.Signal) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		if errors.Is(err, unix.ENOSYS) && p.alive() {
			_ = unix.Kill(p.PID, sig)
		}
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if p.alive() {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

func (p Proc) alive() bool {
	now, ok := Read(p.PID)
	return ok && !now.Dead && now.Start == p.Start
}

// BootID identifies this boot of the kernel; "" if it cannot be read.
var BootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
})
