package repository

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taskyard/runner/git"
	"taskyard/runner/remove"
	"taskyard/runner/workspace"
	"taskyard/task"
)

// checkout is a person's folder in which the branch that is moving is checked
// out. Its index is locked from open to close.
type checkout struct {
	folder string
	admin  string // Git's metadata of the folder, with its index
	locked bool
	git    git.Git // for the folder, with our own index
	dir    string  // our own folder, with index and files
	after  string

	deleted, files []string        // to be deleted, and to be written
	hidden         map[string]bool // files of these whose changes Git does not show
	unchanged      bool            // nothing needs to be changed
}

// lockMark is the content of our index.lock, by which we recognize that of a
// killed server.
const lockMark = "Taskyard merges into the branch that is checked out here.\n"

// The lock of an index, and a file that becomes one.
const lockName, markName = "index.lock", "index.lock.taskyard"

// unlockCheckouts removes the locks of a killed server: its merge may be refused
// now, or be canceled. The repository must be locked.
func (r *repo) unlockCheckouts() {
	for _, admin := range r.admins() {
		if b, err := workspace.ReadIn(admin, lockName); err == nil && string(b) == lockMark {
			_ = os.Remove(filepath.Join(admin, lockName))
		}
		_ = os.Remove(filepath.Join(admin, markName))
	}
}

// dirtyError says why a folder cannot be updated.
type dirtyError string

func (e dirtyError) Error() string { return string(e) }

// openCheckout prepares the update without writing to the folder. With again,
// the branch has already moved, and a killed server may have written a part.
// The error says, for people, what is in the way. The caller must close a
// non-nil checkout.
func (rs *Repositories) openCheckout(ctx context.Context, r *repo, folder, before, after string, again bool) (*checkout, error) {
	c, err := rs.openCopy(ctx, r, folder)
	if err != nil {
		return c, err
	}
	c.after = after
	if err := c.lock(); err != nil {
		return c, err
	}
	if again {
		switch at, err := c.staged(ctx, before); {
		case err != nil:
			return c, err
		case at != "": // its index is that of the new commit, or people have continued
			c.unchanged = true
			return c, nil
		}
	} else if err := c.clean(ctx, before); err != nil {
		return c, err
	}
	return c, c.plan(ctx, before, again)
}

// openCopy returns a checkout with a copy of a folder's index.
func (rs *Repositories) openCopy(ctx context.Context, r *repo, folder string) (*checkout, error) {
	admin, err := r.Git.At(folder).Run(ctx, nil, "rev-parse", "--path-format=absolute", "--git-dir")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"} {
		if _, err := os.Lstat(filepath.Join(admin, name)); err == nil {
			return nil, dirtyError("a merge or rebase is in progress there")
		}
	}
	rs.mu.Lock()
	dir := filepath.Join(rs.scratch.Path, "checkout-"+rand.Text())
	rs.mu.Unlock()
	own := r.Private(filepath.Join(dir, "git"))
	if err := own.Make(ctx, ""); err != nil {
		return nil, err
	}
	c := &checkout{folder: folder, admin: admin, dir: dir, git: own.In(folder)}
	if err = own.CopyIndex(admin); err == nil {
		_, _ = c.git.Run(ctx, nil, "update-index", "-q", "--refresh") // it fails if files changed
	}
	return c, err
}

// local returns an error if a folder has local changes compared to its own
// commit.
func (r *repo) local(ctx context.Context, folder string) (err error) {
	commit, err := r.Git.At(folder).Run(ctx, nil, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return err
	}
	c, err := r.all.openCopy(ctx, r, folder)
	if err != nil {
		return err
	}
	defer c.close()
	return c.clean(ctx, commit)
}

// lock locks the index against other Git processes.
func (c *checkout) lock() error {
	if err := workspace.WriteIn(c.admin, markName, []byte(lockMark), 0o600); err != nil {
		return err
	}
	name, mark := filepath.Join(c.admin, lockName), filepath.Join(c.admin, markName)
	defer func() { _ = os.Remove(mark) }()
	err := os.Link(mark, name) // atomic, with its content
	if errors.Is(err, fs.ErrExist) {
		b, e := workspace.ReadIn(c.admin, lockName)
		if e == nil && string(b) == lockMark {
			c.locked = true // left by a server that was killed
			return nil
		}
		return dirtyError("its index is locked by " + name + ". If no Git works there, delete that file")
	}
	c.locked = err == nil
	return err
}

// close unlocks the index.
func (c *checkout) close() {
	if c.locked {
		_ = os.Remove(filepath.Join(c.admin, lockName))
	}
	_ = remove.Folder(context.Background(), c.dir)
}

// staged returns a file of the index that differs from a commit, "" if there is
// none.
func (c *checkout) staged(ctx context.Context, commit string) (name string, err error) {
	return c.first(ctx, "diff-index", "-z", "--cached", "--name-only", "--no-ext-diff", "--no-renames", commit)
}

// clean returns an error if the folder has local changes.
func (c *checkout) clean(ctx context.Context, commit string) error {
	name, err := c.staged(ctx, commit)
	if err == nil && name == "" {
		name, err = c.first(ctx, diffFiles...)
	}
	if err == nil && name != "" {
		err = dirtyError("it has local changes there: " + task.ClipText(name, 300) + ". Commit or stash them")
	}
	return err
}

var diffFiles = []string{"diff-files", "-z", "--name-only", "--no-ext-diff", "--ignore-submodules=all"}

func (c *checkout) first(ctx context.Context, args ...string) (name string, err error) {
	err = c.git.EachName(ctx, func(s string) { name = cmp.Or(name, s) }, args...)
	return name, err
}

// plan determines what must be written, checks that nothing would be lost, and
// puts the new files into our own folder.
func (c *checkout) plan(ctx context.Context, before string, again bool) error {
	var added []string
	err := c.git.Changes(ctx, before, c.after, func(d git.Change) error {
		if d.BeforeMode == "160000" || d.AfterMode == "160000" {
			return dirtyError("the submodule " + d.Path + " changes, which Taskyard does not update: check out another branch there")
		}
		switch d.Kind {
		case task.FileAdded:
			added = append(added, d.Path)
			c.files = append(c.files, d.Path)
		case task.FileDeleted:
			c.deleted = append(c.deleted, d.Path)
		default:
			c.files = append(c.files, d.Path)
		}
		return nil
	})
	if err == nil {
		err = c.unhide(ctx, added)
	}
	if err != nil {
		return err
	}
	touched, err := c.git.List(ctx, diffFiles...) // none, unless again is set
	if err != nil {
		return err
	}
	if _, err := c.git.Run(ctx, nil, "read-tree", "-i", "-m", c.after); err != nil {
		return err
	}
	if err := c.filtered(ctx); err != nil {
		return err
	}
	index := filepath.Join(c.dir, "git", "index")
	next, err := os.ReadFile(index)
	if err != nil {
		return err
	}
	_, _ = c.git.Run(ctx, nil, "update-index", "-q", "--refresh")
	differ, err := c.git.List(ctx, diffFiles...)
	if err == nil {
		err = os.WriteFile(index, next, 0o600) // without the sizes of old files, by which Git takes new ones for changed
	}
	if err != nil {
		return err
	}
	if err := c.inTheWay(added, touched, differ, again); err != nil {
		return err
	}
	return c.fetch(ctx)
}

// unhide clears the flags by which people hide local changes of files from Git,
// for those that must be written. Files that a sparse checkout leaves out stay
// out.
func (c *checkout) unhide(ctx context.Context, added []string) error {
	root, err := os.OpenRoot(c.folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	touched, out, hidden := map[string]bool{}, map[string]bool{}, ""
	c.hidden = map[string]bool{}
	for _, name := range slices.Concat(c.files, c.deleted) {
		touched[name] = true
	}
	for _, name := range added {
		delete(touched, name)
	}
	err = c.git.EachName(ctx, func(s string) { // "H name"; "h" is assumed unchanged, "S" skipped
		flag, name, _ := strings.Cut(s, " ")
		if flag == "H" || !touched[name] {
			return
		}
		if _, err := root.Lstat(name); err != nil && strings.EqualFold(flag, "S") {
			out[name] = true
		} else {
			c.hidden[name] = true
			hidden += name + "\x00"
		}
	}, "ls-files", "-z", "-v")
	if err != nil {
		return err
	}
	c.files = slices.DeleteFunc(c.files, func(name string) bool { return out[name] })
	if hidden == "" {
		return nil
	}
	for _, flag := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		if _, err := c.git.Run(ctx, strings.NewReader(hidden), "update-index", "-z", flag, "--stdin"); err != nil {
			return err
		}
	}
	_, _ = c.git.Run(ctx, nil, "update-index", "-q", "--refresh") // it fails if files changed
	return nil
}

// filtered returns an error if a file that must be written uses a filter,
// because filters are never executed.
func (c *checkout) filtered(ctx context.Context) error {
	in := strings.NewReader(strings.Join(append(slices.Clone(c.files), ""), "\x00"))
	return c.git.Stream(ctx, in, func(r io.Reader) error {
		var fields []string
		return git.Names(r, func(s string) error {
			if fields = append(fields, s); len(fields)%3 == 0 {
				if value := fields[2]; value != "unspecified" && value != "unset" {
					return dirtyError(task.ClipText(fields[0], 300) + " passes through the filter " + task.ClipText(value, 100) +
						", which Taskyard does not run: check out another branch there")
				}
				fields = fields[:0]
			}
			return nil
		})
	}, "check-attr", "--cached", "--stdin", "-z", "filter")
}

// inTheWay returns an error for a file that has neither its old nor its new
// content. touched are the files without their old content, differ those
// without their new content.
func (c *checkout) inTheWay(added, touched, differ []string, again bool) error {
	root, err := os.OpenRoot(c.folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	set, gone := map[string]bool{}, map[string]bool{}
	for _, name := range differ {
		set[name] = true
	}
	for _, name := range c.deleted {
		gone[name] = true
	}
	for _, name := range added {
		if found := workspace.InTheWay(root, name, gone); found != "" && (set[name] || !again) {
			return dirtyError("there is a file " + task.ClipText(found, 300) + " in the way. Move it elsewhere")
		}
	}
	ours := map[string]bool{}
	for _, name := range slices.Concat(c.files, c.deleted) {
		ours[name] = true
	}
	for _, name := range touched {
		changed := set[name]
		if gone[name] {
			_, err := root.Lstat(name)
			changed = err == nil
		}
		if changed && ours[name] {
			how := ""
			if c.hidden[name] {
				how = ", which git status does not show (see git ls-files -v)"
			}
			return dirtyError("it has local changes there: " + task.ClipText(name, 300) + how + ". Commit or stash them")
		}
	}
	return nil
}

func (c *checkout) copied() string { return filepath.Join(c.dir, "files") }

// fetch writes the files to our own folder.
func (c *checkout) fetch(ctx context.Context) error {
	if err := os.Mkdir(c.copied(), 0o700); err != nil {
		return err
	}
	list := strings.NewReader(strings.Join(append(slices.Clone(c.files), ""), "\x00"))
	_, err := c.git.Run(ctx, list, "checkout-index", "-z", "--stdin", "--prefix="+c.copied()+"/")
	return err
}

// write updates the folder and its index. No local changes are in the way.
func (c *checkout) write(ctx context.Context) error {
	if c.unchanged {
		return nil
	}
	root, err := os.OpenRoot(c.folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := workspace.ReplaceAll(c.copied(), root, c.deleted, c.files); err != nil {
		return fmt.Errorf("not all files could be written: %w", err)
	}
	_, _ = c.git.Run(ctx, nil, "update-index", "-q", "--refresh")
	b, err := os.ReadFile(filepath.Join(c.dir, "git", "index"))
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(c.admin, "index"))
	if err != nil {
		return err
	}
	return workspace.WriteIn(c.admin, "index", b, info.Mode().Perm())
}
