package db_test

import (
	"errors"
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// The IDs of tasks and log lines have no gaps, whatever is rolled back.
func TestARolledBackWriteReleasesItsIDs(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	first := makeTask(t, d, "first")
	undone := errors.New("undone")
	var kept task.ID
	write(t, d, func(tx *db.Tx) (err error) {
		err = tx.Nested(func() error {
			if _, err := newTask(tx, "undone"); err != nil {
				return err
			}
			if _, err := tx.Counts(); err != nil { // stores the gathered counts
				return err
			}
			return undone
		})
		if !errors.Is(err, undone) {
			return err
		}
		kept, err = newTask(tx, "kept")
		return err
	})
	equal(t, "ID after a nested rollback", kept, first+1)
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		if _, err := newTask(tx, "undone"); err != nil {
			return err
		}
		return undone
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	equal(t, "ID after a rolled-back write", makeTask(t, d, "last"), kept+1)
	ok(t, d.Read(t.Context(), func(rx *db.Rx) error { return rx.CheckTail() }))
	write(t, d, func(tx *db.Tx) error {
		if _, err := newTask(tx, "counted at once"); err != nil {
			return err
		}
		c, err := tx.Counts()
		equal(t, "tasks within the write", c.Tasks, int(kept)+2)
		return errors.Join(err, tx.CheckTail())
	})
}
