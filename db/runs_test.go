package db_test

import (
	"encoding/json"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

func TestRunWritesRequireThePreviousStateAndLease(t *testing.T) {
	d := dbtest.New(t)
	id := makeTask(t, d, "x")
	var run task.ID
	write(t, d, func(tx *db.Tx) (err error) { run, err = tx.InsertRun(newRun(id)); return err })
	now := func(tx *db.Tx) *task.Run {
		r, err := tx.Run(run)
		ok(t, err)
		return r
	}
	row := func(tx *db.Tx) string {
		b, err := json.Marshal(now(tx))
		ok(t, err)
		return string(b)
	}
	writes := map[string]func(*db.Tx, *task.Run) (bool, error){
		"move": func(tx *db.Tx, r *task.Run) (bool, error) {
			return tx.MoveRun(r, task.State{Status: task.RunRunning, Phase: task.PhaseCondensing})
		},
		"start":   func(tx *db.Tx, r *task.Run) (bool, error) { return tx.StartRun(r, 1, time.Hour) },
		"requeue": func(tx *db.Tx, r *task.Run) (bool, error) { return tx.RequeueRun(r) },
		"approval": func(tx *db.Tx, r *task.Run) (bool, error) {
			r.Approval = &task.Approval{}
			return tx.SetApproval(r, task.PhaseQueued)
		},
		"end": func(tx *db.Tx, r *task.Run) (bool, error) {
			return tx.EndRun(r, task.State{Status: task.RunFailed, Phase: task.PhaseError}, "x", "x", nil, task.Usage{})
		},
	}
	stale := func(state string) {
		for name, fn := range writes {
			for how, spoil := range map[string]func(*task.Run){
				"status": func(r *task.Run) { r.Status = task.RunCompleted },
				"phase":  func(r *task.Run) { r.Phase = task.PhasePermission },
				"lease":  func(r *task.Run) { r.Lease++ },
				"id":     func(r *task.Run) { r.ID++ },
			} {
				t.Run(name+" of a "+state+" run with another "+how+" changes nothing", func(t *testing.T) {
					write(t, d, func(tx *db.Tx) error {
						before, r := row(tx), now(tx)
						spoil(r)
						done, err := fn(tx, r)
						equal(t, "done", done, false)
						equal(t, "run", row(tx), before)
						return err
					})
				})
			}
		}
	}
	stale("queued")
	write(t, d, func(tx *db.Tx) error {
		done, err := tx.StartRun(now(tx), 1, time.Hour)
		equal(t, "started", done, true)
		return err
	})
	stale("running")
	for name, fn := range map[string]func(tx *db.Tx, lease int64) (bool, error){
		"heartbeat": func(tx *db.Tx, lease int64) (bool, error) { return tx.BeatRun(run, lease, time.Hour) },
		"session":   func(tx *db.Tx, lease int64) (bool, error) { return tx.SetSession(run, lease, "s", "run-1-1") },
		"process":   func(tx *db.Tx, lease int64) (bool, error) { return tx.SetProcess(run, lease, 1, "2", "3") },
	} {
		t.Run(name+" requires the lease", func(t *testing.T) {
			write(t, d, func(tx *db.Tx) error {
				r := now(tx)
				done, err := fn(tx, r.Lease-1)
				ok(t, err)
				equal(t, "with the old lease", done, false)
				done, err = fn(tx, r.Lease)
				equal(t, "with the lease", done, true)
				return err
			})
		})
	}
	t.Run("the end of a run frees its task", func(t *testing.T) {
		equal(t, "gated", count(t, d, "SELECT count(*) FROM tasks WHERE run_id = ?", run), 1)
		write(t, d, func(tx *db.Tx) error {
			done, err := writes["end"](tx, now(tx))
			equal(t, "done", done, true)
			return err
		})
		equal(t, "gated", count(t, d, "SELECT count(*) FROM tasks WHERE run_id IS NOT NULL"), 0)
	})
}
