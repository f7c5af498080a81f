package tree

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// How many times a tree is walked at most: one that keeps changing, and one in
// which no running process has been found so far.
const (
	walks    = 5
	maxWalks = 1000
)

// Descendants lists the running processes below root, without root. It repeats the
// walk until two walks agree, including dead processes, because a process whose
// parent ends in the meantime moves elsewhere. A tree that keeps changing is
// returned as last seen, and never as empty.
func Descendants(root int) []Proc {
	seen, _ := walk(root)
	for i := 0; i < walks || i < maxWalks && len(living(seen)) == 0; i++ {
		again, complete := walk(root)
		agree := complete && slices.Equal(seen, again)
		seen = again
		if agree {
			break
		}
	}
	return living(seen)
}

func living(list []Proc) []Proc {
	return slices.DeleteFunc(slices.Clone(list), func(p Proc) bool { return p.Dead })
}

// walk walks a tree once. complete is false if a process ended before it was
// examined.
func walk(root int) (seen []Proc, complete bool) {
	complete = true
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, pid := range children(queue[0]) {
			p, ok := Read(pid)
			if complete = complete && ok; ok {
				seen, queue = append(seen, p), append(queue, pid)
			}
		}
	}
	return seen, complete
}

// children lists the children of a process, including dead ones. It asks the
// process itself, so that short-lived processes are found in time; if the
// kernel does not support that, it examines all processes.
func children(pid int) (list []int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	threads, _ := os.ReadDir(dir)
	if !hasChildrenFile() {
		return childrenByTable(pid)
	}
	for _, t := range threads {
		b, _ := os.ReadFile(dir + t.Name() + "/children")
		for f := range strings.FieldsSeq(string(b)) {
			if child, err := strconv.Atoi(f); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

var hasChildrenFile = sync.OnceValue(func() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	return err == nil
})

func childrenByTable(parent int) (list []int) {
	for _, pid := range pids() {
		if p, ok := Read(pid); ok && p.Parent == parent {
			list = append(list, pid)
		}
	}
	return list
}
