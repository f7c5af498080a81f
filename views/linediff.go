package views

import (
	"fmt"
	"slices"
	"strings"
)

// diffCells bounds the table of a comparison: beyond it the differing middle
// is shown as one block, removed and added whole.
const diffCells = 1 << 20

// diffContext is how many equal lines stand around a change.
const diffContext = 3

// diffLine is one line of a comparison: '+', '-', ' ', or '@' for what was left
// out.
type diffLine struct {
	Op   byte
	Text string
}

// lineDiff compares two texts line by line: what to take out of old ('-') and
// to put in ('+') to get now. Equal texts give nil.
func lineDiff(old, now string) []diffLine {
	if old == now {
		return nil
	}
	a, b := splitLines(old), splitLines(now)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var all []diffLine
	add := func(op byte, lines ...string) {
		for _, l := range lines {
			all = append(all, diffLine{op, l})
		}
	}
	add(' ', a[:head]...)
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(x)*len(y) > diffCells {
		add('-', x...)
		add('+', y...)
	} else {
		all = append(all, middle(x, y)...)
	}
	add(' ', a[len(a)-tail:]...)
	return folded(all)
}

// splitLines keeps a missing newline at the end visible, as its own line.
func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	list := strings.Split(s, "\n")
	if list[len(list)-1] == "" {
		return list[:len(list)-1]
	}
	list[len(list)-1] += " (no newline at the end)"
	return list
}

// middle compares by the longest common subsequence.
func middle(x, y []string) (list []diffLine) {
	w := len(y) + 1
	common := make([]int32, (len(x)+1)*w)
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i*w+j] = common[(i+1)*w+j+1] + 1
			} else {
				common[i*w+j] = max(common[(i+1)*w+j], common[i*w+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			list = append(list, diffLine{' ', x[i]})
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[(i+1)*w+j] >= common[i*w+j+1]:
			list = append(list, diffLine{'-', x[i]})
			i++
		default:
			list = append(list, diffLine{'+', y[j]})
			j++
		}
	}
	return list
}

// folded leaves out the equal lines far from every change.
func folded(all []diffLine) (list []diffLine) {
	near := make([]bool, len(all))
	for i, l := range all {
		if l.Op == ' ' {
			continue
		}
		for k := max(0, i-diffContext); k <= min(len(all)-1, i+diffContext); k++ {
			near[k] = true
		}
	}
	for i := 0; i < len(all); i++ {
		if near[i] {
			list = append(list, all[i])
			continue
		}
		n := slices.Index(near[i:], true)
		if n < 0 {
			n = len(all) - i
		}
		list = append(list, diffLine{'@', fmt.Sprintf("… %s", Count(n, "equal line", "equal lines"))})
		i += n - 1
	}
	return list
}

// diffCounts tells how many lines a comparison adds and removes.
func diffCounts(list []diffLine) (added, removed int) {
	for _, l := range list {
		switch l.Op {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}
