package db_test

import (
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// A promoted standby may lack the last lines of the log. What the search read from
// them is not written, because other lines may have their IDs by now.
func TestLostLogLinesAreNotIndexed(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	id := makeTask(t, d, "a quokka")
	write(t, d, func(tx *db.Tx) error {
		if err := tx.AddEvent(task.Event{Actor: "coder", Kind: task.EvTaskCompleted, TaskID: id}); err != nil {
			return err
		}
		return tx.Archive(id, task.Done, "")
	})
	var read []db.IndexWrite
	ok(t, d.Read(t.Context(), func(rx *db.Rx) (err error) { read, err = rx.ToIndex(); return err }))
	if len(read) == 0 {
		t.Fatal("there is nothing to index")
	}
	drop := "DROP TRIGGER events_update"
	if dbtest.Postgres() {
		drop += " ON events"
	}
	for _, q := range []string{drop, "UPDATE events SET hash = (SELECT hash FROM events WHERE id = 1) WHERE id = 2"} {
		_, err := dbtest.Raw(t, d).ExecContext(t.Context(), q)
		ok(t, err)
	}
	for _, w := range read {
		write(t, d, func(tx *db.Tx) error { return tx.Index(w) })
	}
	ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
		s, err := rx.IndexState()
		equal(t, "lines that the search has seen", s.Done, 0)
		return err
	}))
	indexHistory(t, d)
	ok(t, d.Read(t.Context(), func(rx *db.Rx) error { return rx.CheckSearch() }))
}
