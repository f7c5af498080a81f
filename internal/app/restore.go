package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"taskyard/db"
	"taskyard/internal/archive"
	"taskyard/internal/config"
	"taskyard/runner/instance"
)

// RestoreOptions configures a restore.
type RestoreOptions struct {
	Replace bool // replace the contents of the data folder, which are kept
	Revive  bool // restore tokens and sessions that have been revoked since
}

// Restored is the result of a restore.
type Restored struct {
	Manifest   *archive.Manifest // nil: the backup is only a database copy
	Kept       string            // location of the previous instance or database; "" if there was none
	ConfigFile string            // location of the backup's configuration, if another one is in use
	Rights     db.Revived
}

// Restore restores a backup to the data folder of c, whose server must not be
// running: an archive, or a database copy of an earlier version. The backup is
// verified completely before anything changes. If Restore is killed at any
// time, the next command or start finds the old or the new instance.
func Restore(ctx context.Context, c *config.Config, file string, o RestoreOptions) (r Restored, err error) {
	if c.Database != "" {
		return r, errors.New("the instance is on PostgreSQL: restore the backup into a new folder, without the key database, " +
			"and copy that to PostgreSQL with taskyard db copy")
	}
	archived, err := isArchive(file)
	if err != nil {
		return r, err
	}
	if err := MakeData(c.Data); err != nil {
		return r, err
	}
	lock, err := db.AcquireLock(DBPath(c.Data))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := db.FinishRestore(DBPath(c.Data), slog.New(slog.DiscardHandler)); err != nil {
		return r, err
	}
	if err := replaceable(c.Data, o.Replace); err != nil {
		return r, err
	}
	if archived {
		return restoreWhole(ctx, c, file, o)
	}
	if _, err := os.Stat(DBPath(c.Data)); err == nil {
		r.Kept = DBPath(c.Data) + ".replaced"
	}
	r.Rights, err = db.Restore(ctx, file, DBPath(c.Data), o.Revive)
	return r, err
}

// isArchive determines the kind of a backup by its first bytes.
func isArchive(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 16)
	n, err := io.ReadFull(f, head)
	switch {
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF):
		return false, err
	case bytes.HasPrefix(head[:n], []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return true, nil
	case bytes.HasPrefix(head[:n], []byte("SQLite format 3\x00")):
		return false, nil
	}
	return false, fmt.Errorf("%s is not a backup: it is neither an archive of taskyard backup nor a copy of a database", file)
}

// replaceable returns an error if the folder is not empty, unless replace is
// set.
func replaceable(data string, replace bool) error {
	list, err := os.ReadDir(data)
	if err != nil || replace {
		return err
	}
	var names []string
	for _, e := range list {
		if name := e.Name(); name != dbName+".lock" && name != "lost+found" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("the data folder %s is not empty (%s): use --replace, which keeps the current contents, or another --data",
		data, strings.Join(names[:min(3, len(names))], ", "))
}

func restoreWhole(ctx context.Context, c *config.Config, file string, o RestoreOptions) (r Restored, err error) {
	if r.Manifest, err = verify(file, c.Data); err != nil {
		return r, err
	}
	w, err := db.PrepareFolderRestore(DBPath(c.Data))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.Cancel()) }()
	if err := extract(ctx, file, w.Dir); err != nil {
		return r, err
	}
	// The records about processes belong to the machine, so keep them.
	if _, err := os.Lstat(filepath.Join(c.Data, idName)); err == nil {
		if err := remove(filepath.Join(w.Dir, idName), filepath.Join(w.Dir, placeName)); err != nil {
			return r, err
		}
	}
	if own := filepath.Join(c.Data, config.FileName); c.File() != "" && !sameFile(c.File(), own) && r.Manifest.Has(config.FileName) {
		r.ConfigFile = own + ".restored"
		if err := os.Rename(filepath.Join(w.Dir, config.FileName), filepath.Join(w.Dir, config.FileName+".restored")); err != nil {
			return r, err
		}
	}
	add, old, err := restoreMoves(w.Dir, c.Data)
	if err != nil {
		return r, err
	}
	r.Kept, r.Rights, err = w.Commit(ctx, add, old, o.Revive)
	return r, err
}

// verify reads a whole archive.
func verify(file, data string) (*archive.Manifest, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := archive.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	defer a.Close()
	m := a.Manifest
	if !m.Has(dbName) {
		return nil, fmt.Errorf("%s: the backup has no %s", file, dbName)
	}
	for _, f := range m.Files {
		if !isOfInstance(f.Name) {
			return nil, fmt.Errorf("%s: the backup has %q, which does not belong in a backup", file, f.Name)
		}
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(data, &disk); err != nil {
		return nil, err
	}
	if free := uint64(disk.Bavail) * uint64(disk.Bsize); uint64(m.Size()) > free { //nolint:gosec,unconvert // sizes are not negative
		return nil, fmt.Errorf("%s needs %d MiB, and the disk of %s has %d MiB free", file, m.Size()>>20, data, free>>20)
	}
	if err := a.Files(nil); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

// isOfInstance reports whether a backup may contain a file with this name.
func isOfInstance(name string) bool {
	top, below, _ := strings.Cut(name, "/")
	if top == instance.RunsName {
		folder, in, _ := strings.Cut(below, "/")
		return isRunFolder(folder) && in != ""
	}
	return name == dbName || !isExcluded(top)
}

// extract writes the files of an archive below dir, and syncs them.
func extract(ctx context.Context, file, dir string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	a, err := archive.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer a.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	folders := map[string]bool{".": true}
	err = a.Files(func(f archive.File, r io.Reader) error {
		if !isOfInstance(f.Name) {
			return fmt.Errorf("%s has changed since it was verified", file)
		}
		folders[path.Dir(f.Name)] = true
		return errors.Join(ctx.Err(), writeFile(root, f, r))
	})
	for folder := range folders {
		if err == nil {
			err = syncFolders(root, folder)
		}
	}
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("the disk of %s is full; nothing was changed: %w", dir, err)
	}
	return err
}

func writeFile(root *os.Root, f archive.File, r io.Reader) error {
	if err := root.MkdirAll(path.Dir(f.Name), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if f.Executable {
		mode = 0o700
	}
	to, err := root.OpenFile(f.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, r)
	return errors.Join(err, to.Sync(), to.Close())
}

// syncFolders syncs a folder and its parents.
func syncFolders(root *os.Root, folder string) error {
	for {
		d, err := root.Open(folder)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return err
		}
		if folder == "." {
			return nil
		}
		folder = path.Dir(folder)
	}
}

func remove(files ...string) error {
	for _, f := range files {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// restoreMoves returns which entries of staged are put in place, and which entries of
// the data folder are removed without a replacement. Run folders are moved
// individually, so that worktrees next to them stay.
func restoreMoves(staged, data string) (add, old []string, err error) {
	list, err := os.ReadDir(staged)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range list {
		if e.Name() != instance.RunsName {
			add = append(add, e.Name())
			continue
		}
		runs, err := os.ReadDir(filepath.Join(staged, e.Name()))
		if err != nil {
			return nil, nil, err
		}
		for _, r := range runs {
			add = append(add, filepath.Join(e.Name(), r.Name()))
		}
	}
	list, err = os.ReadDir(data)
	for _, e := range list {
		name := e.Name()
		if !isExcluded(name) && name != idName && name != placeName && !slices.Contains(add, name) {
			old = append(old, name)
		}
	}
	return add, old, err
}
