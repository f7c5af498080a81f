package tree

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// How often at most one look goes through a tree that does not hold still, and
// through one of which it has met nobody alive so far.
const (
	walks     = 5
	mostWalks = 1000
)

// Below lists the living processes below root, without root. It goes through
// the tree again until two walks agree, the dead included: a process whose
// parent ends meanwhile is somewhere else. A tree that never holds still is
// told as it was last seen, and is not told to be empty.
func Below(root int) []Proc {
	seen, _ := walk(root)
	for i := 0; i < walks || i < mostWalks && len(living(seen)) == 0; i++ {
		again, whole := walk(root)
		agree := whole && slices.Equal(seen, again)
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

// walk goes through a tree once. It is not whole when a process was gone
// before it was looked at.
func walk(root int) (seen []Proc, whole bool) {
	whole = true
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, pid := range children(queue[0]) {
			p, ok := Read(pid)
			if whole = whole && ok; ok {
				seen, queue = append(seen, p), append(queue, pid)
			}
		}
	}
	return seen, whole
}

// children lists the children of a process, the dead ones too. It asks the
// process itself, so that what forks and ends in a moment is found in time;
// where the kernel does not tell, it looks at all.
func children(pid int) (list []int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	threads, _ := os.ReadDir(dir)
	if !tellsChildren() {
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

var tellsChildren = sync.OnceValue(func() bool {
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
