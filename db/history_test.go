package db_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// archived returns a database with a done task (with a step, a resource, a message
// and an ended run) and an open task.
func archived(t testing.TB) (d *db.DB, done, open task.ID, run task.ID) {
	t.Helper()
	d = dbtest.New(t)
	done, open = makeTask(t, d, "done"), makeTask(t, d, "open")
	write(t, d, func(tx *db.Tx) error {
		if _, err := tx.InsertMessage(task.Message{TaskID: done, Kind: task.KindComment, Author: "coder", Content: "hi"}); err != nil {
			return err
		}
		id, err := tx.InsertRun(newRun(done))
		if err != nil {
			return err
		}
		run = id
		if _, err := tx.InsertMessage(task.Message{TaskID: done, RunID: run, Kind: task.KindRun, Author: "coder", Content: "line"}); err != nil {
			return err
		}
		r, err := tx.Run(run)
		if err != nil {
			return err
		}
		if _, err := tx.EndRun(r, task.State{Status: task.RunCanceled, Phase: task.PhaseBy}, "", "", nil, task.Usage{}); err != nil {
			return err
		}
		return tx.Archive(done, task.Done, "summary")
	})
	return d, done, open, run
}

func newRun(id task.ID) *task.Run {
	return &task.Run{
		TaskID: id, Agent: "coder", Status: task.RunPending, Phase: task.PhaseQueued,
		Cause: task.CauseManual, AskedBy: "user:maya", Attempt: 1,
	}
}

func TestTheSchemaProtectsHistory(t *testing.T) {
	d, done, open, run := archived(t)
	refuse := func(name, want, q string, args ...any) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(q, "INSERT OR REPLACE") {
				dbtest.SQLiteOnly(t) // PostgreSQL has no such statement
			}
			errorContains(t, d.Write(context.Background(), func(tx *db.Tx) error { return tx.Exec(q, args...) }), want)
		})
	}
	const immutable = "history is immutable"
	for _, col := range []string{
		"title", "description", "owner", "status", "priority", "version", "summary", "updated_at", "archived_at", "claim_seq",
		"claim_holder", "claim_since", "claim_expires", "question_id", "run_id", "failures",
		"grant_hash", "created_by", "created_at", "parent_id", "nesting", "channel",
	} {
		refuse(col+" of a done task is immutable", immutable, "UPDATE tasks SET "+col+" = "+col+" WHERE id = ?", done)
	}
	refuse("tasks are not deleted", "tasks are kept", "DELETE FROM tasks WHERE id = ?", done)
	refuse("open tasks are not deleted", "tasks are kept", "DELETE FROM tasks WHERE id = ?", open)
	refuse("tasks are not replaced", "tasks are kept", `INSERT OR REPLACE INTO tasks (id, title, owner, created_by,
 status, created_at, updated_at) VALUES (?, 'x', 'coder', 'x', 'active', 1, 1)`, done)
	for col, v := range map[string]string{
		"created_by": "'zoe'", "created_at": "1",
		"parent_id": "1", "nesting": "3", "channel": "'x'", "id": "99",
	} {
		refuse("the origin of a task ("+col+") is immutable", "origin of a task", "UPDATE tasks SET "+col+" = "+v+" WHERE id = ?", open)
	}
	refuse("no step is added to history", immutable, "INSERT INTO steps (task_id, position, title) VALUES (?, 1, 'x')", done)
	refuse("no step of history is changed", immutable, "UPDATE steps SET done = 1 WHERE task_id = ?", done)
	refuse("no step of history is deleted", immutable, "DELETE FROM steps WHERE task_id = ?", done)
	refuse("no step of history is replaced", immutable, "INSERT OR REPLACE INTO steps (task_id, position, title) VALUES (?, 0, 'x')", done)
	refuse("no resource is added to history", immutable,
		"INSERT INTO resources (task_id, position, type, value) VALUES (?, 1, 'file', '/b')", done)
	refuse("no resource of history is changed", immutable, "UPDATE resources SET value = '/b' WHERE task_id = ?", done)
	refuse("no resource of history is deleted", immutable, "DELETE FROM resources WHERE task_id = ?", done)
	refuse("no comment is added to history", immutable,
		"INSERT INTO messages (task_id, kind, author, content, created_at) VALUES (?, 'comment', 'x', 'x', 1)", done)
	refuse("no line is added to an ended run of history", immutable,
		"INSERT INTO messages (task_id, run_id, kind, author, content, created_at) VALUES (?, ?, 'run', 'x', 'x', 1)", done, run)
	refuse("messages are immutable", "messages are immutable", "UPDATE messages SET content = 'x' WHERE task_id = ?", done)
	refuse("comments are kept", "messages are kept", "DELETE FROM messages WHERE task_id = ? AND run_id IS NULL", done)
	refuse("comments are not replaced", "messages are kept",
		"INSERT OR REPLACE INTO messages (id, task_id, kind, author, content, created_at) SELECT id, ?, 'comment', 'x', 'x', 1 "+
			"FROM messages WHERE run_id IS NULL", open)
	refuse("an ended run is final", "final", "UPDATE runs SET summary = 'x' WHERE id = ?", run)
	refuse("runs are kept", "runs are kept", "DELETE FROM runs WHERE id = ?", run)
	refuse("the log is not updated", "append-only", "UPDATE events SET actor = 'x' WHERE id = 1")
	refuse("the log is not deleted", "append-only", "DELETE FROM events WHERE id = 1")
	refuse("the log is not replaced", "append-only",
		"INSERT OR REPLACE INTO events (id, at, actor, kind, hash) VALUES (1, 1, 'x', 'x', x'00')")
	t.Run("transcripts of ended runs may be dropped by retention", func(t *testing.T) {
		write(t, d, func(tx *db.Tx) error {
			n, err := tx.DropTranscripts(tx.Now.Add(time.Hour), 10)
			equal(t, "dropped", n, 1)
			return err
		})
	})
	equal(t, "comments", count(t, d, "SELECT count(*) FROM messages WHERE run_id IS NULL"), 1)
}

func TestTheSchemaEnforcesInvariants(t *testing.T) {
	d := dbtest.New(t)
	a, b := makeTask(t, d, "a"), makeTask(t, d, "b")
	write(t, d, func(tx *db.Tx) error { _, err := tx.InsertRun(newRun(a)); return err })
	write(t, d, func(tx *db.Tx) error { return tx.LinkStep(a, 0, b) })
	for name, q := range map[string]string{
		"one open run per task": "INSERT INTO runs (task_id, agent, status, phase, cause, asked_by, created_at) " +
			"VALUES (1, 'x', 'running', 'starting', 'manual', 'x', 1)",
		"one step per subtask":             "UPDATE steps SET subtask_id = 2 WHERE task_id = 2",
		"a linked step is kept":            "DELETE FROM steps WHERE task_id = 1",
		"no claim on a draft":              "UPDATE tasks SET status = 'draft', claim_holder = 'x', claim_expires = 1 WHERE id = 2",
		"a claim has an expiry":            "UPDATE tasks SET claim_holder = 'x' WHERE id = 2",
		"an archived task has a date":      "UPDATE tasks SET status = 'done' WHERE id = 2",
		"an archived task has no question": "UPDATE tasks SET status = 'done', archived_at = 1, question_id = 1 WHERE id = 2",
		"an archived task has no open run": "UPDATE tasks SET status = 'done', archived_at = 1 WHERE id = 1",
		"no fifth status":                  "UPDATE tasks SET status = 'open' WHERE id = 2",
		"types are strict":                 "UPDATE tasks SET priority = 'high' WHERE id = 2",
		"a description of at most 64 KiB":  "UPDATE tasks SET description = hex(zeroblob(32769)) WHERE id = 2",
		"a description after a NUL":        "UPDATE tasks SET description = 'a' || char(0) || hex(zeroblob(40000)) WHERE id = 2",
		"the parent exists": "INSERT INTO tasks (title, owner, created_by, status, parent_id, created_at, updated_at) " +
			"VALUES ('x', 'x', 'x', 'active', 99, 1, 1)",
		"nesting of at most ten": "INSERT INTO tasks (title, owner, created_by, status, nesting, created_at, updated_at) " +
			"VALUES ('x', 'x', 'x', 'active', 11, 1, 1)",
		"an ended run has an end time":     "UPDATE runs SET status = 'failed' WHERE id = 1",
		"transcript lines belong to a run": "INSERT INTO messages (task_id, kind, author, content, created_at) VALUES (1, 'run', 'x', 'x', 1)",
		"comments do not belong to any run": "INSERT INTO messages (task_id, run_id, kind, author, content, created_at) " +
			"VALUES (1, 1, 'comment', 'x', 'x', 1)",
	} {
		t.Run(name, func(t *testing.T) {
			if err := d.Write(context.Background(), func(tx *db.Tx) error { return tx.Exec(q) }); err == nil {
				t.Fatal("the schema allowed it")
			}
		})
	}
}

func TestTheHashChainRevealsTampering(t *testing.T) {
	for name, q := range map[string]string{
		"a changed actor":        "UPDATE events SET actor = 'user:eve' WHERE id = 3",
		"a changed time":         "UPDATE events SET at = at + 1 WHERE id = 3",
		"changed fields":         `UPDATE events SET changes = '{"a":1}' WHERE id = 3`,
		"a changed task":         "UPDATE events SET task_id = 1 WHERE id = 3",
		"a changed hash":         "UPDATE events SET hash = (SELECT hash FROM events WHERE id = 1) WHERE id = 3",
		"a removed line":         "DELETE FROM events WHERE id = 2",
		"a line inserted before": "INSERT INTO events (id, at, actor, kind, hash) SELECT 0, at, actor, kind, hash FROM events WHERE id = 1",
	} {
		t.Run(name, func(t *testing.T) {
			d := dbtest.New(t)
			for range 5 {
				makeTask(t, d, "x")
			}
			n, err := checkChain(d)
			ok(t, err)
			equal(t, "lines", n, 5)
			c := raw(t, d.Path())
			free := []string{"DROP TRIGGER events_update", "DROP TRIGGER events_delete"}
			if dbtest.Postgres() {
				free = []string{"ALTER TABLE events DISABLE TRIGGER USER"}
			}
			for _, q := range append(free, q) {
				_, err := c.ExecContext(t.Context(), q)
				ok(t, err)
			}
			_, err = checkChain(d)
			errorContains(t, err, "of the log was changed")
		})
	}
	t.Run("lines of another process continue the chain", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "taskyard.db")
		d := dbtest.Open(t, path)
		makeTask(t, d, "x")
		other := dbtest.Open(t, path)
		makeTask(t, other, "y")
		makeTask(t, d, "z")
		n, err := checkChain(d)
		ok(t, err)
		equal(t, "lines", n, 3)
	})
}
