// Package textdiff lists changed files with their lines, within bounds, and
// without control sequences for terminals.
package textdiff

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"taskyard/task"
)

// MaxText is the default limit for files whose lines are compared, in bytes.
const MaxText = 256 << 10

// List collects changed files within the bounds of task.Work.
type List struct {
	Work    *task.Work
	Context int   // lines of context around a change
	Limit   int64 // bytes of a file whose lines are compared
	redact  func(string) string
	names   int // bytes of names so far
	lines   int // bytes of diffs so far
}

// NewList returns an empty list. redact is applied to lines and names before
// they are compared; nil: none.
func NewList(redact func(string) string) *List {
	if redact == nil {
		redact = func(s string) string { return s }
	}
	return &List{Work: &task.Work{Files: []task.FileChange{}}, Context: 3, Limit: MaxText, redact: redact}
}

// Full reports whether no more files can be added.
func (l *List) Full() bool { return len(l.Work.Files) >= task.MaxFiles || l.names >= task.MaxFilePaths }

// Side is one side of a change: the file before or after.
type Side struct {
	Text  []byte
	Known bool   // Text is complete
	Kind  string // file type, unless it is a regular file
	Size  int64
}

// Add adds a changed file. Files beyond the bounds are only counted.
func (l *List) Add(path string, change task.Change, before, after Side, note string) {
	l.Work.Total++
	if l.Full() {
		return
	}
	f := task.FileChange{Path: l.Name(path), Change: change}
	notes := []string{}
	for _, n := range []string{note, l.fill(&f, before, after)} {
		if n != "" {
			notes = append(notes, n)
		}
	}
	f.Note = strings.Join(notes, "; ")
	l.Put(f)
}

// Put adds a file unchanged.
func (l *List) Put(f task.FileChange) {
	l.names += len(f.Path)
	f.Note = task.ClipText(f.Note, task.MaxFileNote)
	l.Work.Files = append(l.Work.Files, f)
}

// Name returns a path in the form that is shown.
func (l *List) Name(path string) string {
	return task.ClipText(strings.ReplaceAll(Printable(l.redact(path)), "\r", "^M"), task.MaxFilePath)
}

// fill compares the lines of a file, or returns why it does not.
func (l *List) fill(f *task.FileChange, before, after Side) (note string) {
	switch {
	case !before.Known || !after.Known:
		big := max(before.Size, after.Size)
		if big > l.Limit {
			return "too large to compare, " + sizes(f.Change, before, after)
		}
		if !before.Known && f.Change != task.FileAdded {
			return "its earlier contents were not kept"
		}
		return "it could not be read"
	case bytes.IndexByte(before.Text, 0) >= 0 || bytes.IndexByte(after.Text, 0) >= 0:
		return "binary, " + sizes(f.Change, before, after)
	}
	hunks := unified(l.clean(before.Text), l.clean(after.Text), l.Context)
	f.Added, f.Removed = count(hunks)
	shown, left := cutLines(hunks, min(task.MaxFileDiff, task.MaxDiff-l.lines))
	l.lines += len(shown)
	f.Diff = shown
	switch {
	case left > 0:
		return fmt.Sprintf("%s lines of its diff are left out", Thousands(left))
	case hunks == "" && f.Change != task.FileModified && after.Kind == "" && before.Kind == "":
		return "empty"
	}
	return ""
}

// clean converts contents to text: redacted, valid, and without control
// sequences for terminals.
func (l *List) clean(b []byte) string { return Printable(l.redact(string(b))) }

// Printable replaces invalid UTF-8 and control characters other than newline,
// tab and the carriage return of a Windows line ending.
func Printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsFunc(s, control) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"), !control(r):
			b.WriteRune(r)
		case r <= 0x7f: // ^[, as terminals show it
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
// bounded: if the texts differ too much, the diff is not minimal.
func unified(before, after string, lines int) string {
	text, err := udiff.ToUnified("a", "b", before, udiff.Lines(before, after), lines)
	if err != nil {
		return "" // impossible: the edits belong to this text
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
// lines are left out.
func cutLines(hunks string, limit int) (shown string, left int) {
	if len(hunks) <= limit {
		return hunks, 0
	}
	end := strings.LastIndexByte(hunks[:max(limit, 0)], '\n') + 1
	return hunks[:end], strings.Count(hunks[end:], "\n")
}

// sizes describes the sizes of a file before and after.
func sizes(change task.Change, before, after Side) string {
	switch change {
	case task.FileAdded:
		return task.ByteSize(after.Size)
	case task.FileDeleted:
		return "was " + task.ByteSize(before.Size)
	}
	return task.ByteSize(before.Size) + " → " + task.ByteSize(after.Size)
}

// Thousands formats a number with commas.
func Thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", Thousands(n/1000), n%1000)
}
