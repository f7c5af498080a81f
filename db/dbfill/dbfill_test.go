package dbfill_test

import (
	"path/filepath"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbfill"
	"taskyard/task"
)

func TestYearFillsAValidInstance(t *testing.T) {
	path := filepath.Join(t.TempDir(), "taskyard.db")
	open := func() *db.DB {
		d, err := db.Open(t.Context(), db.Options{Path: path})
		ok(t, err)
		return d
	}
	ok(t, open().Close())
	begin := time.Now()
	m, err := dbfill.Year(t.Context(), path, dbfill.Size{
		Open: 1000, Archived: 2000, Approvals: 100,
		Subtasks: 300, Comments: 300, Lines: 1200,
	}, []string{"coder", "planner"}, time.Now())
	ok(t, err)
	t.Logf("filled in %s: %+v", time.Since(begin), m)
	d := open()
	defer func() { ok(t, d.Close()) }()
	ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
		for _, id := range []task.ID{m.Much, m.Sub, m.Open, m.Archived, m.Asking} {
			tk, err := rx.Task(id)
			ok(t, err)
			if tk.Title == "" {
				t.Errorf("task %d has no title", id)
			}
		}
		for _, id := range []task.ID{m.Approval, m.LongRun, m.LongLive, m.FailedRun} {
			_, err := rx.Run(id)
			ok(t, err)
		}
		lines, err := rx.Transcript(m.LongRun, 0, 5000)
		ok(t, err)
		if len(lines) < 1200 {
			t.Errorf("the long transcript has %d lines, want at least 1200", len(lines))
		}
		waits, err := rx.InboxTotals(0, 3)
		ok(t, err)
		if waits.Approvals != 100 || waits.Questions == 0 || waits.Notices == 0 || waits.Stuck == 0 {
			t.Errorf("waits: %+v", waits)
		}
		_, err = rx.CheckChain()
		ok(t, err)
		return rx.CheckInvariants()
	}))
	t.Run("the triggers protect history again", func(t *testing.T) {
		err := d.Write(t.Context(), func(tx *db.Tx) error { return tx.Touch(m.Archived) })
		if err == nil {
			t.Error("an archived task was changed")
		}
	})
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
