package db_test

import (
	"database/sql"
	"strings"
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// Statements whose result nobody reads are sent to PostgreSQL together with a
// later statement, which may belong to another write.
func TestAStatementThatFailsLateFailsOnlyItsOwnWrite(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	id := makeTask(t, d, "first")
	running, queued := make(chan struct{}), make(chan struct{})
	held := make(chan error, 1)
	go func() {
		first := true
		held <- d.Write(t.Context(), func(*db.Tx) error {
			if first {
				first = false
				close(running)
				<-queued // so that the writes below share a batch
			}
			return nil
		})
	}()
	<-running
	steps := []task.ID{id, id + 1000, id} // the second task does not exist
	errs := make([]chan error, len(steps))
	for i, of := range steps {
		errs[i] = make(chan error, 1)
		go func() {
			errs[i] <- d.Write(t.Context(), func(tx *db.Tx) error {
				return tx.InsertStep(of, 100+i, task.Step{Title: "a step"})
			})
		}()
	}
	testkit.Eventually(t, "the writes are queued", func() bool { return d.Metrics().Queued == len(steps) })
	close(queued)
	ok(t, <-held)
	ok(t, <-errs[0])
	if err := <-errs[1]; err == nil {
		t.Error("a step without a task was written")
	}
	ok(t, <-errs[2])
	equal(t, "steps", count(t, d, "SELECT count(*) FROM steps WHERE position >= 100"), 2)
}

func TestNestedReturnsTheErrorOfAStatementThatFailsLate(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	id := makeTask(t, d, "first")
	write(t, d, func(tx *db.Tx) error {
		if err := tx.InsertStep(id, 100, task.Step{Title: "before"}); err != nil {
			return err
		}
		err := tx.Nested(func() error { return tx.InsertStep(id+1000, 100, task.Step{Title: "of no task"}) })
		if err == nil {
			t.Error("the error of the nested statement was lost")
		}
		return tx.InsertStep(id, 101, task.Step{Title: "after"})
	})
	equal(t, "steps", count(t, d, "SELECT count(*) FROM steps WHERE position >= 100"), 2)
}

// A claim that sorts the queue slows down as the queue grows.
func TestAClaimReadsItsQueueInIndexOrder(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	c, err := sql.Open("pgx", dbtest.PostgresURL(t, t.Name()))
	ok(t, err)
	t.Cleanup(func() { ok(t, c.Close()) })
	tx, err := c.BeginTx(t.Context(), nil)
	ok(t, err)
	defer func() { _ = tx.Rollback() }()
	// The table is empty, so without these settings other plans cost the same.
	_, err = tx.ExecContext(t.Context(), "SET LOCAL enable_seqscan = off")
	ok(t, err)
	_, err = tx.ExecContext(t.Context(), "SET LOCAL enable_sort = off")
	ok(t, err)
	rows, err := tx.QueryContext(t.Context(), `EXPLAIN SELECT id FROM tasks WHERE owner = 'coder' AND status = 'active' AND claim_holder IS NULL
 AND question_id IS NULL AND run_id IS NULL AND blocked = 0 AND awaits = ''
 ORDER BY resumes DESC, priority DESC, created_at, id LIMIT 1`)
	ok(t, err)
	defer rows.Close()
	for rows.Next() {
		var line string
		ok(t, rows.Scan(&line))
		if strings.Contains(line, "Sort") {
			t.Errorf("the claim sorts its queue: %s", line)
		}
	}
	ok(t, rows.Err())
}
