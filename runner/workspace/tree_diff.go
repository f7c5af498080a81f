package workspace

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"taskyard/task"
)

// blobChange is a line of a comparison of two commits.
type blobChange struct {
	wasMode, isMode string
	was, is         string // names of the contents
	change          task.Change
	path            string
}

// changes lists what differs between where the run began and a commit.
func (t *tree) changes(ctx context.Context, l *list, commit string) error {
	var changed []blobChange
	total := 0
	err := t.git().stream(ctx, nil, func(r io.Reader) error {
		var head string
		return names(r, func(s string) error {
			if head == "" {
				head = s
				return nil
			}
			if total++; len(changed) < task.MaxFiles {
				changed = append(changed, readChange(head, s))
			}
			head = ""
			return nil
		})
	}, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv", t.state.Base, commit)
	if err != nil {
		return err
	}
	texts, err := t.contents(ctx, changed)
	if err != nil {
		return err
	}
	for _, c := range changed {
		l.add(c.path, c.change, texts.side(c.wasMode, c.was), texts.side(c.isMode, c.is), c.note())
	}
	l.work.Total = total
	return nil
}

// readChange reads ":100644 100755 <was> <is> M" and its path.
func readChange(head, path string) blobChange {
	f := strings.Fields(strings.TrimPrefix(head, ":"))
	if len(f) < 5 {
		return blobChange{path: path, change: task.FileModified}
	}
	c := blobChange{wasMode: f[0], isMode: f[1], was: f[2], is: f[3], path: path, change: task.FileModified}
	switch f[4][0] {
	case 'A':
		c.change = task.FileAdded
	case 'D':
		c.change = task.FileDeleted
	}
	return c
}

// modeWords says what Git's modes are.
var modeWords = map[string]string{"100644": "file", "100755": "executable", "120000": "symbolic link", "160000": "submodule"}

func (c blobChange) note() string {
	switch {
	case c.change == task.FileAdded && c.isMode != "100644":
		return modeWords[c.isMode]
	case c.change == task.FileDeleted && c.wasMode != "100644" && c.wasMode != "100755":
		return modeWords[c.wasMode]
	case c.change == task.FileModified && c.isMode != c.wasMode:
		return modeWords[c.wasMode] + " → " + modeWords[c.isMode]
	case c.change == task.FileModified && c.isMode == "120000":
		return modeWords[c.isMode]
	}
	return ""
}

// blobs are contents by their names; those that are too large are known by
// their size alone.
type blobs map[string]side

func (b blobs) side(mode, name string) side {
	if mode == "160000" && strings.Trim(name, "0") != "" {
		return side{text: []byte("commit " + name + "\n"), known: true}
	}
	if strings.Trim(name, "0") == "" {
		return side{known: true} // there is none
	}
	return b[name]
}

// contents reads what changed, within the bound of what is read in all.
func (t *tree) contents(ctx context.Context, changed []blobChange) (blobs, error) {
	found := blobs{}
	var ask []string
	for _, c := range changed {
		for _, name := range []string{c.was, c.is} {
			if _, ok := found[name]; !ok && name != "" && strings.Trim(name, "0") != "" && c.wasMode != "160000" && c.isMode != "160000" {
				found[name] = side{}
				ask = append(ask, name)
			}
		}
	}
	if len(ask) == 0 {
		return found, nil
	}
	budget, small := int64(maxReadAll), []string{}
	err := t.git().stream(ctx, strings.NewReader(strings.Join(ask, "\n")+"\n"), func(r io.Reader) error {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			f := strings.Fields(lines.Text())
			if len(f) != 3 {
				continue // missing: its side stays unknown
			}
			size, _ := strconv.ParseInt(f[2], 10, 64)
			found[f[0]] = side{size: size}
			if size <= maxText && size <= budget {
				budget -= size
				small = append(small, f[0])
			}
		}
		return lines.Err()
	}, "cat-file", "--batch-check")
	if err != nil || len(small) == 0 {
		return found, err
	}
	return found, t.git().stream(ctx, strings.NewReader(strings.Join(small, "\n")+"\n"), func(r io.Reader) error {
		in := bufio.NewReader(r)
		for range small {
			if err := readBlob(in, found); err != nil {
				return err
			}
		}
		return nil
	}, "cat-file", "--batch")
}

// readBlob reads "<name> blob <size>\n<contents>\n".
func readBlob(in *bufio.Reader, into blobs) error {
	head, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	f := strings.Fields(head)
	if len(f) != 3 {
		return fmt.Errorf("git cat-file said %.100q", head)
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil || size < 0 || size > maxText {
		return fmt.Errorf("git cat-file said %.100q", head)
	}
	text := make([]byte, size+1)
	if _, err := io.ReadFull(in, text); err != nil {
		return err
	}
	into[f[0]] = side{text: text[:size], known: true, size: size}
	return nil
}

// Salvage keeps what a run left in its worktree whose server ended under it,
// and returns what that is; nil when there is nothing of it.
func Salvage(ctx context.Context, o Options) *task.Work {
	path, ok := task.WorktreeOf(o.Workspace)
	if !ok {
		return nil
	}
	dir, err := filepath.EvalSymlinks(treeDir(o))
	t := &tree{dir: dir}
	if err != nil || !t.load() || !t.state.Open || t.state.Run != o.Run || t.state.Repository != path {
		return nil
	}
	repo, err := openRepository(ctx, path)
	if err != nil {
		return nil // the next run of the task says why
	}
	if t.repo = repo; !t.whole() {
		return nil
	}
	return t.close(ctx, o, false)
}
