package workspace

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"taskyard/runner/textdiff"
	"taskyard/task"
)

// maxReadAll bounds what a comparison reads, in bytes.
const maxReadAll = 64 << 20

// comparison compares a folder with its previous state.
type comparison struct {
	before *snapshot
	root   *os.Root
	list   *textdiff.List
	budget int64
}

// compare returns the changes. after is the current state of the folder.
func compare(before, after *snapshot, folder string, redact func(string) string) *task.Work {
	l := textdiff.NewList(redact)
	for _, s := range []*snapshot{before, after} {
		if s.cut != "" {
			l.Work.Note = s.cut
			return l.Work
		}
	}
	if before.deep || after.deep {
		l.Work.Note = fmt.Sprintf("Folders more than %d deep were not compared.", maxDepth)
	}
	c := &comparison{before: before, list: l, budget: maxReadAll}
	if root, err := os.OpenRoot(folder); err == nil {
		defer func() { _ = root.Close() }()
		c.root = root
	}
	names := maps.Clone(after.files)
	if names == nil {
		names = map[string]entry{}
	}
	maps.Copy(names, before.files)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old, before := before.files[name]
		is, now := after.files[name]
		c.file(name, old, before, is, now)
	}
	return l.Work
}

func (c *comparison) file(name string, old entry, before bool, is entry, now bool) {
	switch {
	case before && now:
		c.modified(name, old, is)
	case before:
		c.list.Add(name, task.FileDeleted, c.sideBefore(old), textdiff.Side{Known: true}, special(old.mode))
	default:
		c.list.Add(name, task.FileAdded, textdiff.Side{Known: true}, c.new(name, is), fileKind(is.mode))
	}
}

// modified compares contents if the file metadata is not conclusive.
func (c *comparison) modified(name string, old, is entry) {
	if old.same(is) {
		return
	}
	now := c.new(name, is)
	if old.mode == is.mode && now.Known && old.known && contentSum(now.Text) == old.sum {
		return // touched, or rewritten with the same content
	}
	if old.mode == is.mode && special(is.mode) != "" && is.mode&fs.ModeSymlink == 0 {
		return // special files have no content to compare
	}
	text := note(old, is)
	if old.mode == is.mode && !old.known && old.size == is.size {
		text = joinNotes(text, "it was written to")
	}
	c.list.Add(name, task.FileModified, c.sideBefore(old), now, text)
}

func joinNotes(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// sideBefore returns a file before the change.
func (c *comparison) sideBefore(e entry) textdiff.Side {
	if kind := special(e.mode); kind != "" && e.mode&fs.ModeSymlink == 0 {
		return textdiff.Side{Known: true, Kind: kind}
	}
	b, ok := c.before.contents(e)
	if e.binary {
		return textdiff.Side{Text: []byte{0}, Known: true, Size: e.size}
	}
	return textdiff.Side{Text: b, Known: ok, Size: e.size}
}

// new returns a file after the change.
func (c *comparison) new(name string, e entry) textdiff.Side {
	if kind := special(e.mode); kind != "" && e.mode&fs.ModeSymlink == 0 {
		return textdiff.Side{Known: true, Kind: kind}
	}
	s := textdiff.Side{Size: e.size}
	if c.root == nil || e.size > textdiff.MaxText || e.size > c.budget || c.list.Full() && e.size > maxKept {
		return s
	}
	b, err := c.read(name)
	if err != nil {
		return s
	}
	c.budget -= int64(len(b))
	s.Text, s.Known = b, true
	return s
}

// read reads a file below the folder. It opens the parent folder first, so that
// deep paths cost no more than short ones.
func (c *comparison) read(name string) ([]byte, error) {
	dir, base := path.Split(name)
	if dir == "" {
		return readPlain(c.root, base, textdiff.MaxText)
	}
	root, err := c.root.OpenRoot(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return readPlain(root, base, textdiff.MaxText)
}

// note describes changes of an existing file that lines do not show: that it is
// a link or special file, and a changed mode.
func note(old, is entry) string {
	from, to := special(old.mode), special(is.mode)
	switch {
	case from != to:
		return kindName(from) + " → " + kindName(to)
	case old.mode.Perm() != is.mode.Perm():
		return joinNotes(to, fmt.Sprintf("mode %04o → %04o", old.mode.Perm(), is.mode.Perm()))
	}
	return to
}

// fileKind describes a new file, "" for a regular one.
func fileKind(m fs.FileMode) string {
	if m.IsRegular() && m&0o111 != 0 {
		return "executable"
	}
	return special(m)
}

func kindName(kind string) string {
	return cmp.Or(kind, "file")
}

// special names a file type other than a regular file.
func special(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return ""
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}
