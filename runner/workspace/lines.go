package workspace

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"taskyard/task"
)

// maxText bounds the files whose lines are compared, in bytes.
const maxText = 256 << 10

// list collects changed files within the bounds of task.Work.
type list struct {
	work   *task.Work
	redact func(string) string
	names  int // bytes of names so far
	lines  int // bytes of diffs so far
}

func newList(redact func(string) string) *list {
	if redact == nil {
		redact = func(s string) string { return s }
	}
	return &list{work: &task.Work{Files: []task.FileChange{}}, redact: redact}
}

// full reports whether no further file is named.
func (l *list) full() bool { return len(l.work.Files) >= task.MaxFiles || l.names >= task.MaxFilePaths }

// side is a file before or after.
type side struct {
	text  []byte
	known bool   // text is all of it
	kind  string // what it is when it is no plain file
	size  int64
}

// add names a file that changed. Of more than fit only the number is kept.
func (l *list) add(path string, change task.Change, before, after side, note string) {
	l.work.Total++
	if l.full() {
		return
	}
	f := task.FileChange{Path: l.name(path), Change: change}
	l.names += len(f.Path)
	notes := []string{}
	for _, n := range []string{note, l.fill(&f, before, after)} {
		if n != "" {
			notes = append(notes, n)
		}
	}
	f.Note = task.ClipText(strings.Join(notes, "; "), task.MaxFileNote)
	l.work.Files = append(l.work.Files, f)
}

func (l *list) name(path string) string {
	return task.ClipText(strings.ReplaceAll(printable(l.redact(path)), "\r", "^M"), task.MaxFilePath)
}

// fill compares the lines of a file, or says why it does not.
func (l *list) fill(f *task.FileChange, before, after side) (note string) {
	switch {
	case !before.known || !after.known:
		big := max(before.size, after.size)
		if big > maxText {
			return "too large to compare, " + sizes(f.Change, before, after)
		}
		if !before.known && f.Change != task.FileAdded {
			return "its earlier contents were not kept"
		}
		return "it could not be read"
	case bytes.IndexByte(before.text, 0) >= 0 || bytes.IndexByte(after.text, 0) >= 0:
		return "binary, " + sizes(f.Change, before, after)
	}
	hunks := unified(l.clean(before.text), l.clean(after.text))
	f.Added, f.Removed = count(hunks)
	shown, left := cutLines(hunks, min(task.MaxFileDiff, task.MaxDiff-l.lines))
	l.lines += len(shown)
	f.Diff = shown
	switch {
	case left > 0:
		return fmt.Sprintf("%s lines of its diff are left out", thousands(left))
	case hunks == "" && f.Change != task.FileModified && after.kind == "" && before.kind == "":
		return "empty"
	}
	return ""
}

// clean makes text of contents: without secrets, valid, and with nothing that
// would steer a terminal.
func (l *list) clean(b []byte) string { return printable(l.redact(string(b))) }

// printable replaces what is no UTF-8 and the control characters but newline,
// tab and the return of a line of Windows.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsFunc(s, control) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"), !control(r):
			b.WriteRune(r)
		case r <= 0x7f: // ^[, as terminals write it
			b.WriteRune('^')
			b.WriteRune(r ^ 0x40)
		default:
			b.WriteRune(utf8.RuneError)
		}
	}
	return b.String()
}

func control(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f
}

// unified returns the hunks of a unified diff without its header. Its time is
// bounded: where the texts differ too much, it is not the shortest one.
func unified(before, after string) string {
	text, err := udiff.ToUnified("a", "b", before, udiff.Lines(before, after), 3)
	if err != nil {
		return "" // never: the edits are those of this text
	}
	_, text, _ = strings.Cut(text, "\n")
	_, text, _ = strings.Cut(text, "\n")
	return text
}

// count counts the added and removed lines of hunks.
func count(hunks string) (added, removed int) {
	for line := range strings.Lines(hunks) {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// cutLines returns the first lines of hunks, at most limit bytes, and how many
// are left out.
func cutLines(hunks string, limit int) (shown string, left int) {
	if len(hunks) <= limit {
		return hunks, 0
	}
	end := strings.LastIndexByte(hunks[:max(limit, 0)], '\n') + 1
	return hunks[:end], strings.Count(hunks[end:], "\n")
}

// sizes says how large a file was and is.
func sizes(change task.Change, before, after side) string {
	switch change {
	case task.FileAdded:
		return size(after.size)
	case task.FileDeleted:
		return "was " + size(before.size)
	}
	return size(before.size) + " → " + size(after.size)
}

func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
