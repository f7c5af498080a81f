package tools

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// proc is one line of the process table.
type proc struct {
	pid, parent int
	start       string // kernel ticks since boot; tells a reused pid apart
	dead        bool   // a zombie: it runs no more and waits for its parent
}

// below lists the living processes below this one.
func below() []proc {
	children := map[int][]proc{}
	for _, pid := range pids() {
		if p, ok := procOf(pid); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var found []proc
	for queue := []int{os.Getpid()}; len(queue) > 0; queue = queue[1:] {
		for _, p := range children[queue[0]] {
			queue = append(queue, p.pid)
			if !p.dead {
				found = append(found, p)
			}
		}
	}
	return found
}

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

func procOf(pid int) (p proc, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The name, in parentheses, may hold spaces and parentheses itself.
	end := bytes.LastIndexByte(b, ')')
	if err != nil || end < 0 {
		return p, false
	}
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 20 {
		return p, false
	}
	parent, err := strconv.Atoi(f[1])
	return proc{pid: pid, parent: parent, start: f[19], dead: f[0] == "Z" || f[0] == "X"}, err == nil
}

// signal reaches exactly this process, never one that got its pid later.
func (p proc) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if now, ok := procOf(p.pid); ok && now.start == p.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// killBelow kills what is below this process. It stops the processes first,
// again and again until no new one turns up, so that a program that forks
// faster than it is killed cannot get away.
func killBelow() {
	seen := map[int]bool{}
	for range 50 {
		fresh := false
		for _, p := range below() {
			if !seen[p.pid] {
				seen[p.pid], fresh = true, true
				p.signal(unix.SIGSTOP)
			}
		}
		if !fresh {
			break
		}
	}
	for _, p := range below() {
		p.signal(unix.SIGKILL)
	}
}

// sweep kills what bears a mark in its environment: the second net, for what
// is not below its keeper any more.
func sweep(mark string) {
	for range 50 {
		found := false
		for _, pid := range pids() {
			env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
			if err != nil || pid == os.Getpid() || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00")) {
				continue
			}
			if p, ok := procOf(pid); ok && !p.dead {
				found = true
				p.signal(unix.SIGKILL)
			}
		}
		if !found {
			return
		}
	}
}

// threadsOf counts the threads that an account has on this machine.
func threadsOf(uid int) (n int) {
	for _, pid := range pids() {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			continue
		}
		var owner, threads int
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			switch {
			case len(f) < 2:
			case f[0] == "Uid:":
				owner, _ = strconv.Atoi(f[1])
			case f[0] == "Threads:":
				threads, _ = strconv.Atoi(f[1])
			}
		}
		if owner == uid {
			n += threads
		}
	}
	return n
}
