package db_test

import (
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// The search reads the log in batches. A batch that reaches the end says so: lines
// that others write meanwhile do not require another write at once.
func TestASearchBatchReportsWhetherTheLogHasMore(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	id := makeTask(t, d, "a quokka")
	events := func(n int) {
		write(t, d, func(tx *db.Tx) error {
			for range n {
				if err := tx.AddEvent(task.Event{Actor: "coder", Kind: task.EvTaskUpdated, TaskID: id}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	next := func(what string, more bool) {
		t.Helper()
		var list []db.IndexWrite
		ok(t, d.Read(t.Context(), func(rx *db.Rx) (err error) { list, err = rx.ToIndex(); return err }))
		if len(list) != 1 || list[0].More != more {
			t.Fatalf("%s: got %+v, want one write with More %v", what, list, more)
		}
		write(t, d, func(tx *db.Tx) error { return tx.Index(list[0]) })
	}
	events(1500)
	next("the first 1,000 lines", true)
	next("the rest", false)
	events(1)
	next("a line that came since", false)
}
