package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"taskyard/runner/textdiff"
	"taskyard/task"
)

// maxContents bounds the contents that a comparison reads, in bytes.
const maxContents = 64 << 20

// Changes calls each for every file that differs between two commits or trees,
// in path order. It requires a Git of a Private.
func (g Git) Changes(ctx context.Context, from, to string, each func(Change) error) error {
	return g.Stream(ctx, nil, func(r io.Reader) error {
		var head string
		return Names(r, func(s string) error {
			if head == "" {
				head = s
				return nil
			}
			c := readChange(head, s)
			head = ""
			return each(c)
		})
	}, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv", from, to)
}

// Change is a line of a comparison of two commits.
type Change struct {
	BeforeMode, AfterMode string // six digits
	Before, After         string // object names of the contents
	Kind                  task.Change
	Path                  string
}

// readChange parses ":100644 100755 <was> <is> M" and its path.
func readChange(head, path string) Change {
	f := strings.Fields(strings.TrimPrefix(head, ":"))
	if len(f) < 5 {
		return Change{Path: path, Kind: task.FileModified}
	}
	c := Change{BeforeMode: f[0], AfterMode: f[1], Before: f[2], After: f[3], Path: path, Kind: task.FileModified}
	switch f[4][0] {
	case 'A':
		c.Kind = task.FileAdded
	case 'D':
		c.Kind = task.FileDeleted
	}
	return c
}

// modeNames maps Git's file modes to descriptions.
var modeNames = map[string]string{"100644": "file", "100755": "executable", "120000": "symbolic link", "160000": "submodule"}

// Note describes what the lines of the change do not show: that the file is, or
// becomes, something other than a regular file.
func (c Change) Note() string {
	switch {
	case c.Kind == task.FileAdded && c.AfterMode != "100644":
		return modeNames[c.AfterMode]
	case c.Kind == task.FileDeleted && c.BeforeMode != "100644" && c.BeforeMode != "100755":
		return modeNames[c.BeforeMode]
	case c.Kind == task.FileModified && c.AfterMode != c.BeforeMode:
		return modeNames[c.BeforeMode] + " → " + modeNames[c.AfterMode]
	case c.Kind == task.FileModified && c.AfterMode == "120000":
		return modeNames[c.AfterMode]
	}
	return ""
}

// Blobs maps object names to contents. Of contents that are too large, only the
// size is known.
type Blobs map[string]textdiff.Side

// Side returns one side of a change.
func (b Blobs) Side(mode, name string) textdiff.Side {
	if mode == "160000" && strings.Trim(name, "0") != "" {
		return textdiff.Side{Text: []byte("commit " + name + "\n"), Known: true}
	}
	if strings.Trim(name, "0") == "" {
		return textdiff.Side{Known: true} // no file on this side
	}
	return b[name]
}

// Contents reads the contents of changes: files of at most limit bytes, within
// the bound of the whole comparison.
func (g Git) Contents(ctx context.Context, changed []Change, limit int64) (Blobs, error) {
	found := Blobs{}
	var ask []string
	for _, c := range changed {
		for _, name := range []string{c.Before, c.After} {
			if _, ok := found[name]; !ok && name != "" && strings.Trim(name, "0") != "" && c.BeforeMode != "160000" && c.AfterMode != "160000" {
				found[name] = textdiff.Side{}
				ask = append(ask, name)
			}
		}
	}
	if len(ask) == 0 {
		return found, nil
	}
	budget, small := int64(maxContents), []string{}
	err := g.Stream(ctx, strings.NewReader(strings.Join(ask, "\n")+"\n"), func(r io.Reader) error {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			f := strings.Fields(lines.Text())
			if len(f) != 3 {
				continue // missing: its side stays unknown
			}
			size, _ := strconv.ParseInt(f[2], 10, 64)
			found[f[0]] = textdiff.Side{Size: size}
			if size <= limit && size <= budget {
				budget -= size
				small = append(small, f[0])
			}
		}
		return lines.Err()
	}, "cat-file", "--batch-check")
	if err != nil || len(small) == 0 {
		return found, err
	}
	return found, g.Stream(ctx, strings.NewReader(strings.Join(small, "\n")+"\n"), func(r io.Reader) error {
		in := bufio.NewReader(r)
		for range small {
			if err := readBlob(in, found, limit); err != nil {
				return err
			}
		}
		return nil
	}, "cat-file", "--batch")
}

// readBlob parses "<name> blob <size>
// <contents>
// ".
func readBlob(in *bufio.Reader, into Blobs, limit int64) error {
	head, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	f := strings.Fields(head)
	if len(f) != 3 {
		return fmt.Errorf("git cat-file said %.100q", head)
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil || size < 0 || size > limit {
		return fmt.Errorf("git cat-file said %.100q", head)
	}
	text := make([]byte, size+1)
	if _, err := io.ReadFull(in, text); err != nil {
		return err
	}
	into[f[0]] = textdiff.Side{Text: text[:size], Known: true, Size: size}
	return nil
}
