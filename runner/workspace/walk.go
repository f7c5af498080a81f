package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"taskyard/runner/instance"
	"taskyard/runner/textdiff"
)

// The bounds of a walk through a folder.
const (
	maxEntries = 50_000 // files and folders
	maxDepth   = 100    // nested folders
	maxLook    = 30 * time.Second
)

// skippedFolders are folders with the internal data of tools.
var skippedFolders = map[string]bool{
	".git": true, ".hg": true, ".svn": true, "node_modules": true, ".venv": true, "__pycache__": true, ".cache": true, ".tox": true,
}

// cutError says why a walk was cut short, for people.
type cutError string

func (e cutError) Error() string { return string(e) }

var (
	errMany = cutError(fmt.Sprintf("The folder holds more than %s files and folders: they were not compared.", textdiff.Thousands(maxEntries)))
	errLong = cutError(fmt.Sprintf("To look at the folder took longer than %d s: it was not compared.", int(maxLook.Seconds())))
)

// walker visits every entry below a folder except folders. It does not follow
// links or enter other file systems, and skips unreadable entries. Folders
// deeper than maxDepth are skipped too; deep reports that.
type walker struct {
	ctx    context.Context
	left   int
	device uint64
	deep   bool
	visit  func(root *os.Root, name, path string, info fs.FileInfo)
}

// walk walks through a folder. The error is a cutError.
func walk(ctx context.Context, folder string, each func(root *os.Root, name, path string, info fs.FileInfo)) (deep bool, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil // nothing was created
		}
		return false, cutError("The folder could not be read: it was not compared.")
	}
	defer func() { _ = root.Close() }()
	ctx, stop := context.WithTimeout(ctx, maxLook)
	defer stop()
	w := &walker{ctx: ctx, left: maxEntries, visit: each}
	if info, err := root.Stat("."); err == nil {
		w.device = instance.Identify(info).Device
	}
	return w.deep, w.folder(root, "", 0)
}

func (w *walker) folder(root *os.Root, at string, depth int) error {
	f, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	for {
		list, err := f.ReadDir(512)
		for _, e := range list {
			if w.ctx.Err() != nil {
				return errLong
			}
			if w.left--; w.left < 0 {
				return errMany
			}
			if err := w.entry(root, e.Name(), path.Join(at, e.Name()), depth); err != nil {
				return err
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) || len(list) == 0 {
				return nil
			}
		}
	}
}

func (w *walker) entry(root *os.Root, name, at string, depth int) error {
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil
	case !info.IsDir():
		w.visit(root, name, at, info)
		return nil
	case skippedFolders[name]:
		return nil
	case depth == maxDepth:
		w.deep = true
		return nil
	}
	if instance.IsProtected(info) {
		return nil
	}
	below, err := root.OpenRoot(name)
	if err != nil {
		return nil
	}
	defer func() { _ = below.Close() }()
	// It may have been replaced by a link in between.
	if now, err := below.Stat("."); err != nil || !os.SameFile(info, now) {
		return nil
	}
	if instance.Identify(info).Device != w.device {
		return nil
	}
	return w.folder(below, at, depth+1)
}

var errNotPlain = errors.New("not a plain file")

// readPlain reads a regular file of at most limit bytes, or the target of a
// link. It never blocks on a pipe and follows no link.
func readPlain(root *os.Root, name string, limit int64) ([]byte, error) {
	var target []byte
	f, _, err := instance.Open(root, name, false, func(info fs.FileInfo) error {
		if info.Mode()&fs.ModeSymlink != 0 {
			text, err := root.Readlink(name)
			target = []byte(text)
			return errors.Join(errNotPlain, err)
		}
		if !info.Mode().IsRegular() || info.Size() > limit {
			return errNotPlain
		}
		return nil
	})
	if len(target) > 0 {
		return target, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = errNotPlain
	}
	return b, err
}
