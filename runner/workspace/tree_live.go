package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"taskyard/runner/git"
	"taskyard/runner/instance"
	"taskyard/runner/textdiff"
	"taskyard/task"
)

// While a run works in a folder, its agent may replace any file with a link at
// any time. Git follows such links, so it neither reads nor writes there: files
// are copied between that folder and one of ours, through os.Root.

// copyName is our own folder below that of a worktree.
const copyName = "copy"

// snapshot returns a commit of the contents of a working run's folder.
func (t *tree) snapshot(ctx context.Context, message string) (string, error) {
	copied, done, err := t.copyFolder(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	return t.commit(ctx, message, t.privateGit().In(copied))
}

// copyFolder creates our own folder, empty. The caller must call done.
func (t *tree) copyFolder(ctx context.Context) (folder string, done func(), err error) {
	if err := t.remove(ctx, copyName); err != nil {
		return "", nil, err
	}
	folder = filepath.Join(t.dir, copyName)
	return folder, func() { _ = t.remove(ctx, copyName) }, os.Mkdir(folder, 0o700)
}

// write changes the files of a working run's folder from those of the commit
// ours to those of the tree merged. If a file is in the way, it fails before
// anything is written.
func (t *tree) write(ctx context.Context, ours, merged string) error {
	c, err := t.changedFiles(ctx, ours, merged)
	if err == nil {
		err = t.checkUnoccupied(c)
	}
	if err != nil {
		return err
	}
	return t.put(ctx, merged, c)
}

// checkUnoccupied returns an error if an ignored file is in the way of a new one.
func (t *tree) checkUnoccupied(c fileChanges) error {
	work, err := os.OpenRoot(t.work())
	if err != nil {
		return err
	}
	defer func() { _ = work.Close() }()
	gone := map[string]bool{}
	for _, name := range c.deleted {
		gone[name] = true
	}
	for _, name := range c.added {
		if found := InTheWay(work, name, gone); found != "" {
			return errors.New("there is a file " + task.ClipText(textdiff.Printable(found), 200) + " in the way")
		}
	}
	return nil
}

// InTheWay returns the file that is in the way of a new one, "" if there is
// none. Those that are to be deleted are not, nor are folders without files.
func InTheWay(root *os.Root, name string, gone map[string]bool) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() && !gone[dir] {
			return dir
		}
	}
	return remaining(root, name, gone)
}

// remaining returns a file at or below a name that is not to be deleted.
func remaining(root *os.Root, name string, gone map[string]bool) string {
	info, err := root.Lstat(name)
	if err != nil || gone[name] {
		return ""
	}
	if info.IsDir() {
		for _, below := range namesIn(root, name) {
			if found := remaining(root, path.Join(name, below), gone); found != "" {
				return found
			}
		}
		return ""
	}
	return name
}

func namesIn(root *os.Root, dir string) []string {
	f, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	list, _ := f.Readdirnames(-1)
	return list
}

// removeFolders deletes a folder that contains nothing but folders.
func removeFolders(root *os.Root, name string) {
	if info, err := root.Lstat(name); err != nil || !info.IsDir() {
		return
	}
	for _, below := range namesIn(root, name) {
		removeFolders(root, path.Join(name, below))
	}
	_ = root.Remove(name)
}

// put writes the files of a tree into the folder.
func (t *tree) put(ctx context.Context, merged string, c fileChanges) error {
	copied, done, err := t.copyFolder(ctx)
	if err != nil {
		return err
	}
	defer done()
	work, err := os.OpenRoot(t.work())
	if err != nil {
		return err
	}
	defer func() { _ = work.Close() }()
	g := t.privateGit().In(copied).With("GIT_INDEX_FILE=" + filepath.Join(t.dir, "git", "merged"))
	if _, err := g.Run(ctx, nil, "read-tree", merged); err != nil {
		return err
	}
	files := slices.Concat(c.added, c.modified)
	list := strings.NewReader(strings.Join(append(files, ""), "\x00"))
	if _, err := g.Run(ctx, list, "checkout-index", "-z", "--stdin", "--prefix="+copied+"/"); err != nil {
		return err
	}
	return ReplaceAll(copied, work, c.deleted, files)
}

// fileChanges are the files that differ between two trees, by name.
type fileChanges struct{ added, modified, deleted []string }

func (t *tree) changedFiles(ctx context.Context, from, to string) (c fileChanges, err error) {
	err = t.bareGit().Stream(ctx, nil, func(r io.Reader) error {
		status := "" // Git writes it before each name
		return git.Names(r, func(field string) error {
			if status == "" {
				status = field
				return nil
			}
			list := &c.modified
			switch status {
			case "A":
				list = &c.added
			case "D":
				list = &c.deleted
			}
			*list = append(*list, field)
			status = ""
			return nil
		})
	}, "diff-tree", "-r", "-z", "--name-status", "--no-renames", "--ignore-submodules=all", from, to)
	return c, err
}

// ReplaceAll does what a Git that follows links must not do in a folder where
// others work: it deletes files, and replaces others with those of a folder,
// each atomically. Names are slash-separated. The error names the file that
// could not be written. What a killed server left behind is deleted.
func ReplaceAll(from string, to *os.Root, removed, files []string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	removePartial(to, files)
	for _, name := range removed {
		if err := to.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return notWritten(name, err)
		}
		for dir := path.Dir(name); dir != "." && to.Remove(dir) == nil; dir = path.Dir(dir) { // delete folders that are empty now
		}
	}
	for _, name := range files {
		removeFolders(to, name)
		if err := copyFile(root, to, name); err != nil {
			return notWritten(name, err)
		}
	}
	return nil
}

func notWritten(name string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("%s could not be written there: %w", task.ClipText(textdiff.Printable(name), 200), err)
}

// copyAll copies files into our own folder. Files that have been deleted, or
// are no longer a file or link, are skipped.
func copyAll(from *os.Root, folder string, files []string) error {
	to, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	for _, name := range files {
		if err := copyFile(from, to, name); err != nil && !errors.Is(err, errNotPlain) && !errors.Is(err, fs.ErrNotExist) {
			return unsavedError(task.ClipText(textdiff.Printable(name), 200) + " cannot be read")
		}
	}
	return nil
}

// nextPrefix begins the name of a file that will replace another.
const nextPrefix = ".taskyard-"

// removePartial deletes the partially written files that a killed server left in
// the folders of these files.
func removePartial(root *os.Root, files []string) {
	seen := map[string]bool{}
	for _, name := range files {
		dir := path.Dir(name)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			continue
		}
		for _, left := range namesIn(root, dir) {
			if strings.HasPrefix(left, nextPrefix) && len(left) == len(nextPrefix)+len(rand.Text()) {
				_ = root.Remove(path.Join(dir, left))
			}
		}
	}
}

// copyFile replaces a file or link with that of the same name from another
// folder.
func copyFile(from, to *os.Root, name string) error {
	var target string
	f, info, err := instance.Open(from, name, false, func(info fs.FileInfo) (err error) {
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err = from.Readlink(name)
			return errors.Join(errNotPlain, err)
		}
		if !info.Mode().IsRegular() {
			return errNotPlain
		}
		return nil
	})
	if err == nil {
		defer func() { _ = f.Close() }()
	} else if target == "" {
		return err
	}
	if err := makeFolders(to, path.Dir(name)); err != nil {
		return err
	}
	next := path.Join(path.Dir(name), nextPrefix+rand.Text())
	if target != "" {
		err = to.Symlink(target, next)
	} else {
		err = fill(to, next, f, permissions(to, name, info.Mode()&0o100 != 0))
	}
	if err == nil {
		err = to.Rename(next, name)
	}
	if err != nil {
		_ = to.Remove(next)
	}
	return err
}

// makeFolders creates a folder and those above it, with the permissions of the
// one that contains them, whatever the umask of the server.
func makeFolders(root *os.Root, dir string) error {
	if _, err := root.Stat(dir); err == nil || dir == "." {
		return err
	}
	if err := makeFolders(root, path.Dir(dir)); err != nil {
		return err
	}
	above, err := root.Stat(path.Dir(dir))
	if err == nil {
		err = root.Mkdir(dir, 0o700)
	}
	if err != nil {
		return err
	}
	return root.Chmod(dir, above.Mode()&(fs.ModePerm|fs.ModeSetgid))
}

// permissions returns the mode of a file that is replaced by another: that of
// the old file or, for a new one, what its folder allows.
func permissions(root *os.Root, name string, executable bool) fs.FileMode {
	perm := fs.FileMode(0)
	if old, err := root.Lstat(name); err == nil && old.Mode().IsRegular() {
		perm = old.Mode()
	} else if dir, err := root.Stat(path.Dir(name)); err == nil {
		perm = dir.Mode()
	}
	perm = perm&0o666 | 0o600
	if executable {
		perm |= perm & 0o444 >> 2
	}
	return perm
}

func fill(to *os.Root, name string, from io.Reader, mode fs.FileMode) error {
	f, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Chmod(mode), f.Close())
}
