package db

import (
	"encoding/json"

	"taskyard/task"
)

// SetPendingDecision stores a decision on a waiting run that takes effect later; nil
// undoes it. It reports whether the run still waited.
func (tx *Tx) SetPendingDecision(r *task.Run, h *task.PendingDecision) (bool, error) {
	var text, until any
	if h != nil {
		text, until = asJSON(h), h.Until
	}
	return tx.changeRun(r, "UPDATE runs SET held = ?, held_until = ?", text, until)
}

// DueDecisions returns the waiting runs whose pending decision is due.
func (rx *Rx) DueDecisions(limit int) ([]*task.Run, error) {
	return rx.runs("SELECT "+runCols+" FROM runs r INDEXED BY runs_held WHERE r.status = 'pending' "+
		"AND r.phase = 'approval' AND r.held_until <= ? ORDER BY r.held_until LIMIT ?", rx.Now, limit)
}

// PendingDecisions returns the waiting runs whose decision can still be undone.
func (rx *Rx) PendingDecisions(limit int) ([]*task.Run, error) {
	return rx.runs("SELECT "+runCols+" FROM runs r INDEXED BY runs_held WHERE r.status = 'pending' "+
		"AND r.phase = 'approval' AND r.held_until > ? ORDER BY r.held_until LIMIT ?", rx.Now, limit)
}

// FirstPendingDecision returns when the next pending decision takes effect, or 0.
func (rx *Rx) FirstPendingDecision() (at task.Time, err error) {
	err = rx.row("SELECT coalesce(min(held_until), 0) FROM runs INDEXED BY runs_held WHERE status = 'pending' " +
		"AND phase = 'approval' AND held_until IS NOT NULL").Scan(&at)
	return at, err
}

// SaveSpec stores what a run would have executed before its approval was requested again.
func (tx *Tx) SaveSpec(run task.ID, version string, spec *task.Spec) error {
	return tx.do("INSERT INTO run_specs (run_id, version, spec, at) VALUES (?, ?, ?, ?) "+
		"ON CONFLICT DO NOTHING", run, version, asJSON(spec), tx.Now)
}

var lastSpec = storeSQL{
	"SELECT spec FROM run_specs WHERE run_id = ? ORDER BY at DESC, rowid DESC LIMIT 1",
	"SELECT spec FROM run_specs WHERE run_id = ? ORDER BY at DESC, id DESC LIMIT 1",
}

// SavedSpec returns the spec that SaveSpec stored under a version, or the
// latest one if the version is ""; nil if there is none.
func (rx *Rx) SavedSpec(run task.ID, version string) (*task.Spec, error) {
	q, args := lastSpec.forStore(rx), []any{run}
	if version != "" {
		q, args = "SELECT spec FROM run_specs WHERE run_id = ? AND version = ?", []any{run, version}
	}
	var text string
	if ok, err := optional(rx.row(q, args...).Scan(&text)); !ok {
		return nil, err
	}
	spec := &task.Spec{}
	return spec, json.Unmarshal([]byte(text), spec)
}
