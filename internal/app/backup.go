package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"taskyard/db"
	"taskyard/internal/archive"
	"taskyard/internal/config"
	"taskyard/jobs"
	"taskyard/runner/instance"
	"taskyard/task"
)

// ArchiveSuffix is the file name suffix of backups of a whole instance.
const ArchiveSuffix = ".tar.zst"

// BackupOptions configures a backup.
type BackupOptions struct {
	Runs         bool   // include the folders of runs
	Version      string // of this program
	CopyDatabase func(ctx context.Context, file string) error
}

// WriteBackup writes the instance of c to a new archive: a checked copy of the
// database, the agents, the configuration, and everything else in the data
// folder that cannot be derived. The archive gets its name when it is complete.
// Errors: to already exists, or the disk is full.
func WriteBackup(ctx context.Context, c *config.Config, to string, o BackupOptions) (*archive.Manifest, error) {
	if _, err := os.Lstat(to); err == nil {
		return nil, fmt.Errorf("%s exists already; give a new name", to)
	}
	db.SweepCopies(filepath.Dir(to))
	m, err := writeBackup(ctx, c, to, o)
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("the disk of %s is full: free some space, or write to another disk: %w", to, err)
	}
	return m, err
}

func writeBackup(ctx context.Context, c *config.Config, to string, o BackupOptions) (*archive.Manifest, error) {
	body, err := db.NewPartial(to)
	if err != nil {
		return nil, err
	}
	defer body.Discard()
	w, err := archive.NewWriter(body, time.Now())
	if err != nil {
		return nil, err
	}
	m := &archive.Manifest{Version: o.Version, Runs: o.Runs}
	if m.Instance, err = readText(filepath.Join(c.Data, idName)); err != nil {
		return nil, err
	}
	if err := addDatabase(ctx, w, m, to, o.CopyDatabase); err != nil {
		return nil, err
	}
	b := &backup{ctx: ctx, to: w, data: c.Data}
	if err := b.addAll(c.File(), m, o.Runs); err != nil {
		return nil, err
	}
	out, err := db.NewPartial(to)
	if err != nil {
		return nil, err
	}
	defer out.Discard()
	if err := w.Finish(out, m); err != nil {
		return nil, err
	}
	return m, out.Publish(to)
}

// backups configures the server's scheduled backups.
func (in *Instance) backups(data, version string) jobs.Backup {
	c := in.Config.Backup
	return jobs.Backup{
		Cron: c.Cron, Dir: BackupDir(data), Keep: c.Keep, After: c.After, Limit: c.AfterTimeout,
		Write: func(ctx context.Context, file string) error {
			_, err := WriteBackup(ctx, in.Config, file, BackupOptions{Version: version, CopyDatabase: in.Service.CopyInto})
			return err
		},
	}
}

// addDatabase adds a copy of the database, which is stored next to the archive
// in the meantime.
func addDatabase(ctx context.Context, w *archive.Writer, m *archive.Manifest, to string, write func(context.Context, string) error) error {
	tmp, err := db.NewPartial(to)
	if err != nil {
		return err
	}
	defer tmp.Discard()
	if err := write(ctx, tmp.Name()); err != nil {
		return err
	}
	schema, end, err := db.Describe(ctx, tmp.Name())
	if err != nil {
		return err
	}
	m.Schema, m.LogEnd = schema, end.String()
	fi, err := tmp.Stat()
	if err != nil {
		return err
	}
	return w.Add(dbName, tmp, fi.Size(), false)
}

// isExcluded reports whether a file or folder at the top of a data folder belongs to
// the machine and not to the instance, or has a name that an archive cannot
// contain. It is neither backed up nor changed by a restore. The database is
// handled separately.
func isExcluded(name string) bool {
	switch name {
	case filepath.Base(BackupDir("")), instance.RunsName, db.StagedName, acmeName, "lost+found":
		return true
	}
	return !archive.IsName(name) || strings.HasPrefix(name, dbName) || strings.HasPrefix(name, db.KeptPrefix) ||
		strings.HasPrefix(name, ".") || strings.HasSuffix(name, ArchiveSuffix)
}

// backup adds the files of a data folder to an archive.
type backup struct {
	ctx  context.Context
	to   *archive.Writer
	data string
	own  []fs.FileInfo // of the database, which must not be opened
	runs bool          // the files are those of agents, who may make them unreadable: they are left out
}

// isLeftOut reports whether a file that could not be read is left out.
func (b *backup) isLeftOut(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || b.runs && errors.Is(err, fs.ErrPermission) // or deleted in the meantime
}

// addAll adds everything except the database. configFile is the configuration
// in use.
func (b *backup) addAll(configFile string, m *archive.Manifest, runs bool) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", ".lock"} {
		if fi, err := os.Stat(DBPath(b.data) + suffix); err == nil {
			b.own = append(b.own, fi)
		}
	}
	list, err := os.ReadDir(b.data)
	if err != nil {
		return err
	}
	own := filepath.Join(b.data, config.FileName)
	if configFile != "" && !sameFile(configFile, own) {
		m.Config = configFile
		if err := b.add(configFile, config.FileName); err != nil {
			return err
		}
	}
	for _, e := range list {
		if isExcluded(e.Name()) || e.Name() == config.FileName && m.Config != "" {
			continue
		}
		if err := b.add(filepath.Join(b.data, e.Name()), e.Name()); err != nil {
			return err
		}
	}
	if !runs {
		return nil
	}
	b.runs = true
	dir := filepath.Join(b.data, instance.RunsName)
	list, err = os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range list {
		if e.IsDir() && isRunFolder(e.Name()) {
			if err := b.addTree(filepath.Join(dir, e.Name()), instance.RunsName+"/"+e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// isRunFolder reports whether a folder below runs belongs to a run. Worktree
// folders belong to repositories, which are not backed up.
func isRunFolder(name string) bool { return strings.HasPrefix(name, "run-") }

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// add adds a file or folder. A link at the top of a data folder, such as to
// agents in a repository, is followed.
func (b *backup) add(path, name string) error {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // deleted in the meantime, or a broken link
	case err != nil:
		return err
	case fi.IsDir():
		return b.addTree(path, name)
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if target, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(target) != filepath.Dir(path) {
		return b.add(target, name)
	}
	return b.addFile(root, filepath.Base(path), name)
}

// addTree adds the regular files below a folder. Links in it are not followed.
func (b *backup) addTree(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case b.isLeftOut(err):
			return nil
		case err != nil:
			return err
		case !e.Type().IsRegular() || !archive.IsName(name+"/"+p):
			return b.ctx.Err()
		}
		return b.addFile(root, p, name+"/"+p)
	})
}

func (b *backup) addFile(root *os.Root, p, name string) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	fi, err := root.Stat(p)
	if b.isLeftOut(err) || err == nil && (!fi.Mode().IsRegular() || b.isOwn(fi)) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := root.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if b.isLeftOut(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if fi, err = f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return err
	}
	return b.to.Add(name, f, fi.Size(), fi.Mode().Perm()&0o100 != 0)
}

// isOwn reports whether a file belongs to the database: closing it would drop
// the locks of SQLite.
func (b *backup) isOwn(fi fs.FileInfo) bool {
	return slices.ContainsFunc(b.own, func(own fs.FileInfo) bool { return os.SameFile(own, fi) })
}

// BackupEnds returns the log ends of the newest n scheduled backups.
func BackupEnds(ctx context.Context, data string, n int) ([]db.BackupEnd, error) {
	entries, err := os.ReadDir(BackupDir(data))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var list []db.BackupEnd
	for _, e := range slices.Backward(entries) {
		if len(list) == n {
			break
		}
		path := filepath.Join(BackupDir(data), e.Name())
		if !isBackup(e.Name()) {
			continue
		}
		fi, err := os.Stat(path)
		if err != nil {
			continue // deleted in the meantime
		}
		end, err := readLogEnd(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = append(list, db.BackupEnd{File: path, At: task.TimeFromStd(fi.ModTime()), End: end})
	}
	return list, nil
}

// isBackup reports whether a file name is that of a backup.
func isBackup(name string) bool {
	return !strings.HasPrefix(name, ".") && (strings.HasSuffix(name, ArchiveSuffix) || filepath.Ext(name) == ".db")
}

func readLogEnd(ctx context.Context, path string) (h db.Head, err error) {
	if !strings.HasSuffix(path, ArchiveSuffix) {
		_, h, err = db.Describe(ctx, path)
		return h, err
	}
	f, err := os.Open(path)
	if err != nil {
		return h, err
	}
	defer f.Close()
	a, err := archive.NewReader(f)
	if err != nil {
		return h, err
	}
	defer a.Close()
	return db.ParseHead(a.Manifest.LogEnd)
}
