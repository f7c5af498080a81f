package db_test

import (
	"errors"
	"fmt"
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// TestTaskCountsFollowChanges changes tasks in every way that affects the
// counts per owner and status.
func TestTaskCountsFollowChanges(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	var ids []task.ID
	write(t, d, func(tx *db.Tx) error {
		for _, status := range []task.Status{task.Draft, task.Active, task.Active, task.Active} {
			id, err := tx.InsertTask(&task.Task{Title: "t", Owner: "coder", CreatedBy: "user:maya", Status: status, Channel: "web"})
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return nil
	})
	expect := func(want string, archived int) {
		t.Helper()
		ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
			loads, err := rx.Loads()
			ok(t, err)
			got := ""
			for _, owner := range []string{"coder", "scout"} {
				l := loads[owner]
				open, err := rx.OpenCount(owner, "")
				ok(t, err)
				got += fmt.Sprintf("%s %d+%d=%d ", owner, l.Drafts, l.Queued, open)
			}
			equal(t, "drafts and queued", got, want)
			c, err := rx.Counts()
			equal(t, "archived", c.Archived, archived)
			ok(t, err)
			return rx.CheckInvariants()
		}))
	}
	expect("coder 1+3=4 scout 0+0=0 ", 0)
	write(t, d, func(tx *db.Tx) error {
		tk, err := tx.Task(ids[0])
		if err != nil {
			return err
		}
		tk.Status = task.Active
		if err := tx.UpdateTask(tk); err != nil {
			return err
		}
		if err := tx.Transfer(ids[1], "scout"); err != nil {
			return err
		}
		return tx.Archive(ids[2], task.Canceled, "")
	})
	expect("coder 0+2=2 scout 0+1=1 ", 1)
	write(t, d, func(tx *db.Tx) error { return tx.Archive(ids[1], task.Done, "") })
	expect("coder 0+2=2 scout 0+0=0 ", 2)
	for _, damage := range []string{
		"UPDATE task_counts SET n = n + 1 WHERE owner = 'coder' AND status = 'active'",
		"DELETE FROM task_counts WHERE owner = 'scout' AND status = 'done'",
		"INSERT INTO task_counts VALUES ('nobody', 'draft', 1)",
	} {
		c, err := raw(t, d.Path()).BeginTx(t.Context(), nil)
		ok(t, err)
		_, err = c.ExecContext(t.Context(), damage)
		ok(t, err)
		ok(t, c.Commit())
		ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
			errorContains(t, rx.CheckInvariants(), "a wrong count of the tasks of an owner")
			return nil
		}))
		_, err = raw(t, d.Path()).ExecContext(t.Context(), "DELETE FROM task_counts; INSERT INTO task_counts "+
			"SELECT owner, status, count(*) FROM tasks GROUP BY owner, status")
		ok(t, err)
	}
}

// TestCountsMatchCommittedWrites makes writes of a batch fail in every way that
// rolls back what they counted.
func TestCountsMatchCommittedWrites(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	open := func(rx *db.Rx, want int) {
		t.Helper()
		n, err := rx.OpenCount("coder", task.Active)
		ok(t, err)
		equal(t, "open", n, want)
	}
	insert := func(tx *db.Tx) {
		t.Helper()
		_, err := tx.InsertTask(&task.Task{Title: "t", Owner: "coder", CreatedBy: "user:maya", Status: task.Active, Channel: "web"})
		ok(t, err)
	}
	no := errors.New("no")
	write(t, d, func(tx *db.Tx) error {
		insert(tx)
		open(&tx.Rx, 1)
		err := tx.Nested(func() error {
			insert(tx)
			open(&tx.Rx, 2)
			insert(tx)
			return no
		})
		if !errors.Is(err, no) {
			return err
		}
		open(&tx.Rx, 1)
		return tx.Nested(func() error { insert(tx); return nil })
	})
	err := d.Write(t.Context(), func(tx *db.Tx) error { insert(tx); return no })
	equal(t, "a write that fails after it wrote", errors.Is(err, no), true)
	err = d.Write(t.Context(), func(tx *db.Tx) error { return errors.Join(tx.CountAsked(1, "coder"), no) })
	equal(t, "a write that fails after it counted", errors.Is(err, no), true)
	ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
		open(rx, 2)
		hours, err := rx.StatHours(task.StatFilter{To: rx.Now + 1})
		ok(t, err)
		equal(t, "hours", len(hours), 1)
		equal(t, "created", hours[0].Created, 2)
		equal(t, "asked", hours[0].Asked, 0)
		return rx.CheckInvariants()
	}))
}

// TestTheOldestTaskOfAQueueIsUnclaimed claims the oldest task.
func TestTheOldestTaskOfAQueueIsUnclaimed(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	oldest := func() (at task.Time) {
		t.Helper()
		ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
			loads, err := rx.Loads()
			at = loads["coder"].OldestAt
			return err
		}))
		return at
	}
	write(t, d, func(tx *db.Tx) error {
		for i, at := range []task.Time{3000, 1000, 2000} {
			err := tx.ImportTask(&task.Task{
				ID: task.ID(i + 1), Title: "t", Owner: "coder", CreatedBy: "user:maya", Status: task.Active,
				Channel: "web", Version: 1, CreatedAt: at, UpdatedAt: at,
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	equal(t, "before", oldest(), 1000)
	write(t, d, func(tx *db.Tx) error { return tx.Claim(2, "coder", 1e9) })
	equal(t, "the next", oldest(), 2000)
	write(t, d, func(tx *db.Tx) error { return tx.Release(2) })
	equal(t, "released", oldest(), 1000)
}

// TestMigrationCountsExistingTasks migrates tasks of schema 12.
func TestMigrationCountsExistingTasks(t *testing.T) {
	t.Parallel()
	dbtest.SQLiteOnly(t)
	const row = "INSERT INTO tasks (title, owner, created_by, created_at, updated_at, archived_at, status) VALUES ('t', '%s', 'user:maya', 1, 1, %s)"
	d := dbtest.Open(t, atSchema(
		t, 12, fmt.Sprintf(row, "coder", "NULL, 'active'"), fmt.Sprintf(row, "coder", "NULL, 'draft'"), fmt.Sprintf(row, "scout", "1, 'done'"),
	))
	ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
		for owner, want := range map[string]int{"coder": 2, "scout": 0} {
			n, err := rx.OpenCount(owner, "")
			ok(t, err)
			equal(t, owner, n, want)
		}
		return rx.CheckInvariants()
	}))
}
