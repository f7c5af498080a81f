package repository

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"taskyard/runner/git"
	"taskyard/runner/textdiff"
	"taskyard/task"
)

// comparison is the difference between two commits.
type comparison struct {
	sum   string // SHA-256 of the canonical patch, in hexadecimal
	files []task.FileChange
	total int
}

// maxCompared bounds the files of a comparison.
const maxCompared = 200_000

// compare compares two commits. The canonical patch contains the files in path
// order with their modes; hunks with 3 lines of context, without line numbers
// and function names; and for binary files and those larger than 16 MiB, their
// object names. It is streamed: only the list of files is held in memory.
func compare(ctx context.Context, g git.Git, from, to string, redact func(string) string) (*comparison, error) {
	p := &patch{sum: sha256.New(), list: textdiff.NewList(redact), names: newShownNames()}
	err := g.Changes(ctx, from, to, func(c git.Change) error {
		if len(p.changes) == maxCompared {
			return task.Errorf(task.Conflict, task.CodeRepository, "More than %s files differ: too many for one result",
				textdiff.Thousands(maxCompared))
		}
		p.changes = append(p.changes, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(p.changes) > 0 {
		err = g.Set("core.bigFileThreshold=16m", "core.quotePath=true").Stream(ctx, nil, p.read, "diff-tree", "-r", "-p",
			"--unified=3", "--inter-hunk-context=0", "--diff-algorithm=myers", "--no-indent-heuristic", "--full-index", "--no-renames",
			"--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--submodule=short", "--ignore-submodules=none",
			"--src-prefix=a/", "--dst-prefix=b/", from, to)
		if err == nil {
			err = p.end()
		}
	}
	if err != nil {
		return nil, err
	}
	return &comparison{hex.EncodeToString(p.sum.Sum(nil)), p.list.Work.Files, len(p.changes)}, nil
}

// patch parses Git's patch, file by file.
type patch struct {
	changes []git.Change
	sum     hash.Hash
	list    *textdiff.List
	names   shownNames

	next     int  // index of the change after the current section
	sections int  // sections that the current change still has
	hunks    bool // after the header of the section
	binary   bool
	added    int
	removed  int
}

var errPatch = errors.New("Git printed another patch than was expected")

// read parses a patch. Lines are read in pieces, because a line may be as long
// as a file.
func (p *patch) read(r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	begins := true // the piece is at the beginning of a line
	skip := false  // the line is not part of the canonical patch
	for {
		piece, err := in.ReadSlice('\n')
		if len(piece) > 0 {
			if begins {
				skip, err = p.line(piece), p.failed(err)
			}
			if !skip {
				p.sum.Write(piece)
			}
			begins = piece[len(piece)-1] == '\n'
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// failed returns errPatch if there were too many sections.
func (p *patch) failed(err error) error {
	if p.next > len(p.changes) {
		return errPatch
	}
	return err
}

// line handles the beginning of a line, and reports whether the line is not
// part of the canonical patch.
func (p *patch) line(b []byte) (skip bool) {
	switch {
	case bytes.HasPrefix(b, []byte("diff --git ")):
		p.section()
		return true
	case bytes.HasPrefix(b, []byte("@@ ")):
		p.hunks = true
		p.sum.Write([]byte("@@\n"))
		return true
	case p.hunks && b[0] == '+':
		p.added++
	case p.hunks && b[0] == '-':
		p.removed++
	case !p.hunks && bytes.HasPrefix(b, []byte("Binary files ")):
		p.binary = true
		c := p.changes[min(p.next, len(p.changes))-1]
		fmt.Fprintf(p.sum, "binary %s %s\n", c.Before, c.After)
		return true
	}
	return !p.hunks
}

// section begins the next section. A change has one section, or two if a file
// becomes something else, such as a link.
func (p *patch) section() {
	p.hunks = false
	if p.sections--; p.sections > 0 {
		return
	}
	p.finish()
	if p.next++; p.next > len(p.changes) {
		return
	}
	c := p.changes[p.next-1]
	p.sections, p.binary, p.added, p.removed = 1, false, 0, 0
	if c.BeforeMode[:3] != c.AfterMode[:3] && c.Kind == task.FileModified {
		p.sections = 2
	}
	fmt.Fprintf(p.sum, "file %d:%s %s %s\n", len(c.Path), c.Path, c.BeforeMode, c.AfterMode)
}

// finish adds a change after all of it was read.
func (p *patch) finish() {
	if p.next == 0 || p.next > len(p.changes) || p.list.Full() {
		return
	}
	c := p.changes[p.next-1]
	note := c.Note()
	if p.binary {
		if note != "" {
			note += "; "
		}
		note += "binary, or too large to compare"
	}
	p.list.Put(task.FileChange{Path: p.names.add(p.list.Name(c.Path)), Change: c.Kind, Added: p.added, Removed: p.removed, Note: note})
}

func (p *patch) end() error {
	p.finish()
	if p.next != len(p.changes) || p.sections > 1 {
		return errPatch
	}
	return nil
}

// shownNames are the names under which the files of a comparison are shown. They
// differ, although several paths may have the same printable form: a reviewer must
// be able to open each.
type shownNames struct {
	used map[string]bool
	last map[string]int // number of the last name with this beginning
}

func newShownNames() shownNames { return shownNames{map[string]bool{}, map[string]int{}} }

func (s shownNames) add(name string) string {
	shown, start := name, ""
	for s.used[shown] {
		if start == "" {
			start = task.ClipText(name, task.MaxFilePath-10)
		}
		s.last[start] = max(s.last[start]+1, 2)
		shown = fmt.Sprintf("%s (%d)", start, s.last[start])
	}
	s.used[shown] = true
	return shown
}

// maxOpened bounds the files that FileDiff compares, in bytes.
const maxOpened = 2 << 20

// FileDiff compares one file in two commits, with the given number of lines of
// context. The path is as returned by Files. It returns a *task.Error.
func (rs *Repositories) FileDiff(ctx context.Context, repository, from, to, path string, lines int) (*task.FileChange, error) {
	r, err := rs.open(ctx, repository)
	if err != nil {
		return nil, err
	}
	if err := r.checkCommits(ctx, from, to); err != nil {
		return nil, err
	}
	l := textdiff.NewList(rs.o.Redact)
	l.Context, l.Limit = min(max(lines, 0), 1_000_000), maxOpened
	var found *git.Change
	names, shown := newShownNames(), ""
	err = r.bare.Changes(ctx, from, to, func(c git.Change) error {
		if name := names.add(l.Name(c.Path)); name == path || c.Path == path && shown != path {
			found, shown = &c, name
		}
		return nil
	})
	if err != nil {
		return nil, failed(ctx, repository, "Comparing commits", err)
	}
	if found == nil {
		return nil, task.Errorf(task.NotFound, task.CodeNotFound, "The file %s is the same in both commits",
			textdiff.Printable(task.ClipText(path, 200)))
	}
	texts, err := r.bare.Contents(ctx, []git.Change{*found}, maxOpened)
	if err != nil {
		return nil, failed(ctx, repository, "Comparing commits", err)
	}
	l.Add(found.Path, found.Kind, texts.Side(found.BeforeMode, found.Before), texts.Side(found.AfterMode, found.After), found.Note())
	l.Work.Files[0].Path = shown
	return &l.Work.Files[0], nil
}
