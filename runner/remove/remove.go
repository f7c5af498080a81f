// Package remove deletes folders that untrusted programs have filled. It
// follows no link, needs no more memory or open files for a deep folder than
// for a flat one, and deletes folders even if their permissions deny access.
package remove

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// trashName is the folder in which files are deleted: everything in it will be
// deleted, and an interrupted deletion continues there.
const trashName = ".removing"

// batch bounds how many subfolders of a folder are moved out of it at a time.
const batch = 500

// All deletes the named entries of root with everything below them, and what an
// earlier call left. Each entry disappears from root atomically or not at all.
// The error says how many could not be deleted, and why the first could not;
// the others are deleted all the same. No program may work in them any more.
func All(ctx context.Context, root *os.Root, names ...string) error {
	r := &remover{ctx: ctx, mark: rand.Text()}
	if err := r.open(root); err != nil {
		return err
	}
	defer func() { _ = r.trash.Close() }()
	for _, name := range names {
		r.failed(r.moveToTrash(root, name))
	}
	if err := r.empty(); err != nil {
		return err
	}
	if r.failures == 0 {
		_ = root.Remove(trashName) // another call may already use it again
		return nil
	}
	return fmt.Errorf("%d files or folders could not be removed, the first: %w", r.failures, r.first)
}

// Folder deletes a folder by its path. Errors: those of All.
func Folder(ctx context.Context, path string) error {
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	names, err := readNames(root)
	if err != nil {
		return err
	}
	if err := All(ctx, root, names...); err != nil {
		return err
	}
	return os.Remove(path)
}

func readNames(root *os.Root) ([]string, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return f.Readdirnames(-1)
}

type remover struct {
	ctx      context.Context
	trash    *os.Root
	mark     string // prefix of the names that this call uses in the pit
	n        int
	pending  []string // folders in the pit, the last one first
	failures int
	first    error
}

// open opens the pit and creates it if it does not exist.
func (r *remover) open(root *os.Root) error {
	if err := root.Mkdir(trashName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := root.Lstat(trashName)
	if err != nil {
		return err
	}
	r.trash, err = enter(root, trashName, info)
	return err
}

// enter opens a folder and makes it readable and writable. It returns an error
// for anything else with that name.
func enter(parent *os.Root, name string, info fs.FileInfo) (*os.Root, error) {
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", name)
	}
	if info.Mode().Perm()&0o700 != 0o700 {
		if err := parent.Chmod(name, 0o700); err != nil {
			return nil, err
		}
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if now, err := dir.Stat("."); err != nil || !os.SameFile(info, now) { // it was replaced by a link
		_ = dir.Close()
		return nil, errors.Join(fmt.Errorf("%s changed meanwhile", name), err)
	}
	return dir, nil
}

// moveToTrash moves an entry into the pit, if it exists.
func (r *remover) moveToTrash(parent *os.Root, name string) error {
	info, err := parent.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() && info.Mode().Perm()&0o700 != 0o700 { // otherwise it cannot be moved
		if err := parent.Chmod(name, 0o700); err != nil {
			return err
		}
	}
	return parent.Rename(name, trashName+"/"+r.unusedName())
}

// unusedName returns an unused name in the pit.
func (r *remover) unusedName() string {
	r.n++
	return fmt.Sprintf("%s-%d", r.mark, r.n)
}

func (r *remover) failed(err error) {
	if err == nil {
		return
	}
	if r.failures++; r.first == nil {
		r.first = err
	}
}

// empty deletes the contents of the pit. Nested folders are first moved up into
// the pit, so that paths stay short. The error is the cause of ctx.
func (r *remover) empty() error {
	if err := r.each(r.trash, func(name string) bool {
		r.pending = append(r.pending, name)
		return true
	}); err != nil {
		return err
	}
	for len(r.pending) > 0 {
		name := r.pending[len(r.pending)-1]
		r.pending = r.pending[:len(r.pending)-1]
		if err := r.removeEntry(name); err != nil {
			return err
		}
	}
	return nil
}

// removeEntry deletes an entry of the pit, or records why it cannot. A folder that is
// not finished is pushed back, below those that were inside it.
func (r *remover) removeEntry(name string) error {
	info, err := r.trash.Lstat(name)
	if err != nil || !info.IsDir() {
		if err == nil {
			err = r.trash.Remove(name)
		}
		r.failed(err)
		return r.ctx.Err()
	}
	dir, err := enter(r.trash, name, info)
	if err != nil {
		r.failed(err)
		return r.ctx.Err()
	}
	at := len(r.pending)
	r.pending = append(r.pending, name)
	removed, firsts := 0, r.failures
	end := r.each(dir, func(child string) bool {
		if err := r.child(dir, name, child); err != nil {
			r.failed(err)
		} else {
			removed++
		}
		return len(r.pending)-at <= batch
	})
	_ = dir.Close()
	if end != nil {
		return end
	}
	if len(r.pending) > at+1 { // it is processed again after the folders inside it
		r.failures = firsts
		return nil
	}
	err = r.trash.Remove(name)
	switch {
	case err != nil && removed > 0: // a long folder may be listed incompletely while it shrinks
		r.failures = firsts
	case err != nil && r.failures == firsts:
		r.failed(err)
		fallthrough
	default:
		r.pending = r.pending[:at]
	}
	return nil
}

// child deletes an entry of a folder in the pit; a folder that is not empty is
// moved up.
func (r *remover) child(dir *os.Root, name, child string) error {
	err := dir.Remove(child)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	info, not := dir.Lstat(child)
	if not != nil || !info.IsDir() {
		return err
	}
	if info.Mode().Perm()&0o700 != 0o700 {
		if err := dir.Chmod(child, 0o700); err != nil {
			return err
		}
	}
	up := r.unusedName()
	if err := r.trash.Rename(name+"/"+child, up); err != nil {
		return err
	}
	r.pending = append(r.pending, up)
	return nil
}

// each calls do for the names in a folder until do returns false. The error is
// the cause of ctx; an unreadable folder is recorded.
func (r *remover) each(dir *os.Root, do func(name string) bool) error {
	f, err := dir.Open(".")
	if err != nil {
		r.failed(err)
		return r.ctx.Err()
	}
	defer func() { _ = f.Close() }()
	for {
		names, err := f.Readdirnames(batch)
		for _, name := range names {
			if r.ctx.Err() != nil {
				return context.Cause(r.ctx)
			}
			if !do(name) {
				return nil
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.failed(err)
			}
			return nil
		}
	}
}
