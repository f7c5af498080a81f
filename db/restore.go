package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"taskyard/task"
)

// restoreJournal is the journal of a restore, <path>.restore: from the moment it
// is there the restore is decided, and whoever opens the database next
// finishes it. Both names are of files in the folder of the database.
type restoreJournal struct {
	From     string         `json:"from"` // the checked file that becomes the database, or the folder of a whole instance
	Replaced string         `json:"kept"` // the name for the former one, which nothing has yet
	Folder   *folderJournal `json:"whole,omitempty"`
}

var quiet = slog.New(slog.DiscardHandler)

func journalPath(path string) string { return path + ".restore" }

// pending reports whether a restore is decided and not finished.
func pending(path string) bool { return fileExists(journalPath(path)) }

func replacedName(path string, now time.Time) string {
	return filepath.Base(path) + ".replaced-" + now.UTC().Format("20060102T150405")
}

// Restore puts the backup file from in the place of the database at path,
// which no process may have open (hold its Lock). The backup is checked
// first; the present database, with its -wal and -shm, is kept as
// <path>.replaced, which must not exist yet. A restore that was cut off at any
// point has either not happened or is finished by FinishRestore. Tokens and
// sessions that were ended since the backup stay ended, unless revive is set.
func Restore(ctx context.Context, from, path string, revive bool) (v Revived, err error) {
	if path, err = resolve(path); err != nil {
		return v, err
	}
	if err := FinishRestore(path, quiet); err != nil {
		return v, err
	}
	if err := checkBackup(ctx, from); err != nil {
		return v, err
	}
	note := restoreJournal{From: filepath.Base(path) + ".restoring", Replaced: filepath.Base(path) + ".replaced"}
	if kept := path + ".replaced"; fileExists(kept) {
		return v, fmt.Errorf("%s exists from an earlier restore; move it away first", kept)
	}
	src, err := openReadOnly(from)
	if err != nil {
		return v, err
	}
	defer src.Close()
	if err := vacuumInto(ctx, src, path+".restoring"); err != nil {
		return v, err
	}
	if v, err = revokeEnded(ctx, path+".restoring", path, task.TimeFromStd(time.Now()), revive); err != nil {
		return v, err
	}
	if err := syncFile(path + ".restoring"); err != nil {
		return v, err
	}
	if err := writeRestoreJournal(path, note); err != nil {
		return v, err
	}
	return v, FinishRestore(path, quiet)
}

// FinishRestore ends a restore, or the rescue of deleted files, that is
// decided, and removes what one left that was not. Hold the Lock of the path.
// It is safe to be cut off and repeated.
func FinishRestore(path string, log *slog.Logger) error {
	path, err := resolve(path)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(journalPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.RemoveAll(stagedFolder(path)); err != nil {
			return err
		}
		if !fileExists(path) {
			return nil // perhaps all that is left; somebody must look
		}
		return removeAll(path+".restoring", path+".restoring-journal", journalPath(path)+".new")
	}
	if err != nil {
		return err
	}
	var note restoreJournal
	if err := json.Unmarshal(b, &note); err != nil || note.From == "" || note.Replaced == "" {
		return fmt.Errorf("%s is not what a restore wrote: restore a backup again after removing it", journalPath(path))
	}
	dir := filepath.Dir(path)
	from, kept := filepath.Join(dir, filepath.Base(note.From)), filepath.Join(dir, filepath.Base(note.Replaced))
	switch {
	case note.Folder != nil:
		if err := note.Folder.finish(dir, from, kept); err != nil {
			return err
		}
		log.Warn("restore finished", "data", dir, "former", kept)
	case fileExists(from):
		if err := swap(from, path, kept); err != nil {
			return err
		}
		log.Warn("restore finished", "database", path, "former", kept)
	case !fileExists(path):
		return fmt.Errorf("a restore of %s was decided, but neither it nor %s is there: bring one of "+
			"them back, or remove %s and restore a backup", path, from, journalPath(path))
	}
	if err := os.Remove(journalPath(path)); err != nil {
		return err
	}
	return syncFile(dir)
}

// swap moves the former database away, its log first: over another file it
// would corrupt that.
func swap(from, path, kept string) error {
	for _, suffix := range append(companions, "") {
		if err := os.Rename(path+suffix, kept+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := syncFile(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Rename(from, path); err != nil {
		return err
	}
	return syncFile(filepath.Dir(path))
}

func writeRestoreJournal(path string, note restoreJournal) error {
	b, err := json.Marshal(note)
	if err != nil {
		return err
	}
	tmp := journalPath(path) + ".new"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return err
	}
	if err := syncFile(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, journalPath(path)); err != nil {
		return err
	}
	return syncFile(filepath.Dir(path))
}

// FinishRestoreIfPending is FinishRestore for a command beside the server: it does nothing
// when nothing waits, and takes the lock otherwise. Error: a server runs.
func FinishRestoreIfPending(path string, log *slog.Logger) error {
	resolved, err := resolve(path)
	if err != nil || !pending(resolved) {
		return err
	}
	lock, err := AcquireLock(resolved)
	if err != nil {
		return fmt.Errorf("a restore waits for the next start: %w", err)
	}
	return errors.Join(FinishRestore(resolved, log), lock.Release())
}

func removeAll(files ...string) error {
	for _, f := range files {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func openReadOnly(path string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return sql.Open("sqlite3", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_busy_timeout=5000")
}

// checkBackup refuses a database file that is damaged, not one of Taskyard, or of
// a newer version.
func checkBackup(ctx context.Context, file string) error {
	if err := CheckFileIntegrity(ctx, file); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := checkIsTaskyard(ctx, file); err != nil {
		return err
	}
	schema, _, err := Describe(ctx, file)
	if err == nil && schema > wantedSchema() {
		err = fmt.Errorf("%s has schema %d, this program knows up to %d: use a newer taskyard; nothing was changed", file, schema, wantedSchema())
	}
	return err
}

func checkIsTaskyard(ctx context.Context, path string) error {
	db, err := openReadOnly(path)
	if err != nil {
		return err
	}
	defer db.Close()
	var n int
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name IN ('tasks', 'events', 'goose_db_version')").Scan(&n)
	if err != nil {
		return err
	}
	if n != 3 {
		return fmt.Errorf("%s is not a Taskyard database", path)
	}
	return nil
}
