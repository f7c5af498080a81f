package task

import (
	"strconv"
	"strings"
)

// HunkLine is one line of a unified diff with its numbers; 0 where it is not in
// that side. Kind is ' ', '+', '-', '@' for the head of a hunk, or '\\'.
type HunkLine struct {
	Kind     byte
	Text     string // without its kind; of a head, all of it
	Old, New int
}

// HunkLines reads the hunks of a unified diff.
func HunkLines(diff string) []HunkLine {
	list := make([]HunkLine, 0, strings.Count(diff, "\n"))
	old, now := 0, 0
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			line = " "
		}
		l := HunkLine{Kind: line[0], Text: line[1:]}
		switch l.Kind {
		case '@':
			l.Text = line
			a, b := HunkHead(line)
			old, now = a.Start, b.Start
		case '+':
			l.New = now
			now++
		case '-':
			l.Old = old
			old++
		case ' ':
			l.Old, l.New = old, now
			old, now = old+1, now+1
		}
		list = append(list, l)
	}
	return list
}

// HunkSide is what a hunk is about in one of both files: N lines from Start on.
// Where N is 0, its lines of the other file come after Start.
type HunkSide struct{ Start, N int }

// HunkHead reads "@@ -12,3 +15 @@"; for any other line, both sides are zero.
func HunkHead(line string) (old, now HunkSide) {
	fields := strings.Fields(line)
	if len(fields) < 3 || fields[0] != "@@" {
		return old, now
	}
	side := func(s string) (h HunkSide) {
		start, n, counted := strings.Cut(s[1:], ",")
		h.Start, _ = strconv.Atoi(start) // what is no number is 0
		if h.N = 1; counted {
			h.N, _ = strconv.Atoi(n)
		}
		return h
	}
	return side(fields[1]), side(fields[2])
}

// HunkExcerpt returns the lines of one side, old or new, from first to last, as
// far as they are in the diff.
func HunkExcerpt(diff, side string, first, last int) string {
	var b strings.Builder
	for _, l := range HunkLines(diff) {
		n := l.New
		if side == "old" {
			n = l.Old
		}
		if n >= first && n <= last && n > 0 {
			b.WriteString(l.Text + "\n")
		}
	}
	return b.String()
}
