package db

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"taskyard/task"
)

// folderJournal is what the journal says of a restore of a whole data folder. Names
// are relative to that folder.
type folderJournal struct {
	Old []string `json:"old"` // moved away, in this order; nothing comes in their place
	New []string `json:"new"` // put in place, what lies there is moved away
}

// Names in a data folder.
const (
	StagedName = "restoring" // the folder in which a restore gathers an instance before it is decided
	KeptPrefix = "replaced-" // begins the names of folders with what a restore moved away
)

func stagedFolder(path string) string { return filepath.Join(filepath.Dir(path), StagedName) }

// FolderRestore is a restore of a data folder that is being prepared. Hold the Lock of
// its database meanwhile.
type FolderRestore struct {
	Dir string // where the new files go: a folder that is there and empty

	path string // of the database
}

// PrepareFolderRestore finishes what an earlier restore left and makes the folder for the
// new files of the instance whose database is at path.
func PrepareFolderRestore(path string) (*FolderRestore, error) {
	if err := FinishRestore(path, quiet); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if fi, err := os.Lstat(path); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		return nil, errors.New(path + " is a link: move it away, then restore")
	}
	w := &FolderRestore{Dir: stagedFolder(path), path: path}
	return w, os.Mkdir(w.Dir, 0o700)
}

// Cancel removes the new files. It does nothing once the restore is decided.
func (w *FolderRestore) Cancel() error {
	if pending(w.path) {
		return nil
	}
	return os.RemoveAll(w.Dir)
}

// Commit puts the files of add in place and moves the existing ones, together
// with the files of remove, to the returned folder. All files must be synced,
// except the database, which is checked first. Commit ends sessions and tokens
// as Restore does. An interrupted restore has either not happened, or is
// finished by FinishRestore.
func (w *FolderRestore) Commit(ctx context.Context, add, remove []string, revive bool) (kept string, v Revived, err error) {
	staged := filepath.Join(w.Dir, filepath.Base(w.path))
	if err := checkBackup(ctx, staged); err != nil {
		return "", v, err
	}
	now := time.Now()
	if v, err = revokeEnded(ctx, staged, w.path, task.TimeFromStd(now), revive); err != nil {
		return "", v, err
	}
	if err := errors.Join(syncFile(staged), syncFile(w.Dir)); err != nil {
		return "", v, err
	}
	n := &folderJournal{New: add}
	for _, suffix := range companions { // before the database: over another one they would corrupt it
		n.Old = append(n.Old, filepath.Base(w.path)+suffix)
	}
	n.Old = append(n.Old, remove...)
	dir := filepath.Dir(w.path)
	note := restoreJournal{From: filepath.Base(w.Dir), Replaced: KeptPrefix + now.UTC().Format("20060102T150405.000"), Folder: n}
	kept = filepath.Join(dir, note.Replaced)
	if err := writeRestoreJournal(w.path, note); err != nil {
		return "", v, err
	}
	if err := FinishRestore(w.path, quiet); err != nil {
		return "", v, err
	}
	if !fileExists(kept) {
		kept = ""
	}
	return kept, v, nil
}

// FolderRestorePending reports whether the restore of a data folder is decided and not
// finished: its configuration may be the old or the new one.
func FolderRestorePending(path string) bool {
	resolved, err := resolve(path)
	return err == nil && pending(resolved) && fileExists(stagedFolder(resolved))
}

// finish moves the files. What was moved before it was cut off is told by
// where it is: a new file that is not in from is in place.
func (n *folderJournal) finish(dir, from, kept string) error {
	if err := os.MkdirAll(kept, 0o700); err != nil {
		return err
	}
	for _, name := range n.Old {
		if err := moveAway(dir, kept, name); err != nil {
			return err
		}
	}
	for _, name := range n.New {
		staged := filepath.Join(from, name)
		if !fileExists(staged) {
			continue
		}
		if err := moveAway(dir, kept, name); err != nil {
			return err
		}
		if err := rename(staged, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := os.Remove(kept); err != nil && !errors.Is(err, fs.ErrExist) { // not empty
		return err
	}
	return os.RemoveAll(from)
}

// moveAway moves a file or folder of dir, if it is there.
func moveAway(dir, kept, name string) error {
	if !fileExists(filepath.Join(dir, name)) {
		return nil
	}
	return rename(filepath.Join(dir, name), filepath.Join(kept, name))
}

// rename moves a file, makes the folder that it goes to, and syncs both folders.
func rename(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(syncFile(filepath.Dir(to)), syncFile(filepath.Dir(from)))
}
