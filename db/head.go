package db

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"taskyard/task"
)

// Head is the end of the log: with it, kept elsewhere, a log that was cut or
// rewritten is distinguished from the real one.
type Head struct {
	Last task.ID // 0: the log is empty
	Hash string  // of the last line, in hexadecimal
}

func (h Head) String() string { return fmt.Sprintf("%d:%s", h.Last, h.Hash) }

// ParseHead reads what String writes.
func ParseHead(s string) (h Head, err error) {
	line, hash, ok := strings.Cut(s, ":")
	if h.Last, err = task.ParseID(line); err != nil || !ok || len(hash) != 64 {
		return h, fmt.Errorf("%q is not the end of a log: give LINE:HASH, as check prints it", s)
	}
	h.Hash = strings.ToLower(hash)
	return h, nil
}

// Head returns the end of the log.
func (rx *Rx) Head() (h Head, err error) {
	var sum []byte
	_, err = optional(rx.row("SELECT id, hash FROM events ORDER BY id DESC LIMIT 1").Scan(&h.Last, &sum))
	h.Hash = hex.EncodeToString(sum)
	return h, err
}

// CheckTail returns an error when lines at the end of the log are missing that
// SQLite has counted: it never gives a number twice.
func (rx *Rx) CheckTail() error {
	if err := rx.flushCounts(); err != nil {
		return err
	}
	h, err := rx.Head()
	if err != nil {
		return err
	}
	var given task.ID
	if _, err := optional(rx.row("SELECT seq FROM sqlite_sequence WHERE name = 'events'").Scan(&given)); err != nil {
		return err
	}
	switch {
	case given > h.Last:
		return fmt.Errorf("the end of the log is missing: lines %d to %d were removed", h.Last+1, given)
	case given < h.Last:
		return fmt.Errorf("the log's own count is %d, but its last line is %d: somebody wrote to the database by hand", given, h.Last)
	}
	return nil
}

// HasHead returns an error unless the log has the line with this hash.
func (rx *Rx) HasHead(h Head) error {
	if h.Last == 0 {
		return nil
	}
	var sum []byte
	found, err := optional(rx.row("SELECT hash FROM events WHERE id = ?", h.Last).Scan(&sum))
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("line %d of the log is missing: the end was cut off", h.Last)
	case hex.EncodeToString(sum) != h.Hash:
		return fmt.Errorf("line %d of the log has changed: the log was rewritten", h.Last)
	}
	return nil
}

// Restored returns when the database was last put back from a backup; zero
// when it never was.
func (rx *Rx) Restored() (r Restored, err error) {
	text, err := rx.Setting(restored)
	if err != nil || text == "" {
		return r, err
	}
	return r, json.Unmarshal([]byte(text), &r)
}

// BackupEnd is where the log of a backup ends.
type BackupEnd struct {
	File string
	At   task.Time // when it was written
	End  Head
}

// CheckBackups compares the log with the log ends in backups, and returns how
// many it compared. Backups made before an older database was restored go
// beyond that point and are not compared. The error is about the first
// mismatch.
func (rx *Rx) CheckBackups(list []BackupEnd) (int, error) {
	back, err := rx.Restored()
	if err != nil {
		return 0, err
	}
	done := 0
	for _, b := range list {
		if b.End.Last > back.Last && b.At <= back.At {
			continue
		}
		if err := rx.HasHead(b.End); err != nil {
			return done, fmt.Errorf("%w (the backup %s has it)", err, b.File)
		}
		done++
	}
	return done, nil
}

// readHead reads the end of the log of a database.
func readHead(ctx context.Context, c *sql.DB) (h Head, err error) {
	err = c.QueryRowContext(ctx, "SELECT coalesce(max(id), 0), coalesce((SELECT lower(hex(hash)) "+
		"FROM events ORDER BY id DESC LIMIT 1), '') FROM events").Scan(&h.Last, &h.Hash)
	return h, err
}
