package db

import (
	"encoding/json"

	"taskyard/task"
)

const permissionCols = "p.run_id, p.n, p.tool, p.input, p.reason, p.asked_at, p.expires_at, " +
	"p.decision, p.scope, p.decided_by, coalesce(p.decided_at, 0), p.message"

func scanPermission(s rowScanner) (*task.Permission, error) {
	p := &task.Permission{}
	var input string
	err := s.Scan(&p.Run, &p.N, &p.Tool, &input, &p.Reason, &p.AskedAt, &p.ExpiresAt, &p.Decision, &p.Scope, &p.By, &p.At, &p.Message)
	p.Input = json.RawMessage(input)
	return p, err
}

// Permission returns a permission that a run asked for, or nil.
func (rx *Rx) Permission(run task.ID, n int) (*task.Permission, error) {
	return rx.permission("SELECT "+permissionCols+" FROM permissions p WHERE p.run_id = ? AND p.n = ?", run, n)
}

// LastPermission returns the latest permission that a run asked for, or nil.
func (rx *Rx) LastPermission(run task.ID) (*task.Permission, error) {
	return rx.permission("SELECT "+permissionCols+" FROM permissions p WHERE p.run_id = ? ORDER BY p.n DESC LIMIT 1", run)
}

// Granted returns the decision that lets a run call a tool until it ends, or
// nil.
func (rx *Rx) Granted(run task.ID, tool string) (*task.Permission, error) {
	return rx.permission("SELECT "+permissionCols+" FROM permissions p INDEXED BY permissions_granted "+
		"WHERE p.run_id = ? AND p.tool = ? AND p.scope = 'run' ORDER BY p.n LIMIT 1", run, tool)
}

func (rx *Rx) permission(q string, args ...any) (*task.Permission, error) {
	return nilIfNoRow(scanPermission(rx.row(q, args...)))
}

// RunsAwaitingPermission returns the runs that wait for a permission, the first to expire
// first, each with what it asks.
func (rx *Rx) RunsAwaitingPermission(limit int) ([]*task.Run, error) {
	return rx.runsAwaitingPermission("p.decision = ''", limit)
}

// runsAwaitingPermission is RunsAwaitingPermission by a condition; the last argument is the limit.
func (rx *Rx) runsAwaitingPermission(cond string, args ...any) ([]*task.Run, error) {
	rows := rx.query("SELECT "+permissionCols+" FROM permissions p INDEXED BY permissions_expiry WHERE "+
		cond+" ORDER BY p.expires_at, p.run_id LIMIT ?", args...)
	permissions, err := collect(rows, scanPermission)
	if err != nil {
		return nil, err
	}
	list := make([]*task.Run, 0, len(permissions))
	for _, p := range permissions {
		r, err := rx.Run(p.Run)
		if err != nil {
			return nil, err
		}
		r.Permission = p
		list = append(list, r)
	}
	return list, nil
}

// AwaitingPermissionCount returns how many runs wait for a permission.
func (rx *Rx) AwaitingPermissionCount() (int, error) {
	return rx.count("SELECT count(*) FROM permissions p INDEXED BY permissions_expiry WHERE p.decision = ''")
}

// InsertPermission writes what a run asks for and returns its number. Error:
// the run asks already.
func (tx *Tx) InsertPermission(p *task.Permission) (int, error) {
	n, err := tx.count("SELECT coalesce(max(n), 0) + 1 FROM permissions WHERE run_id = ?", p.Run)
	if err != nil {
		return 0, err
	}
	return n, tx.do("INSERT INTO permissions (run_id, n, tool, input, reason, asked_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
		p.Run, n, p.Tool, string(p.Input), p.Reason, tx.Now, p.ExpiresAt)
}

// DecidePermission writes a decision and adds the wait to the run's; false
// when there was one already.
func (tx *Tx) DecidePermission(p *task.Permission) (bool, error) {
	decided, err := tx.changedOne("UPDATE permissions SET decision = ?, scope = ?, decided_by = ?, decided_at = ?, message = ? "+
		"WHERE run_id = ? AND n = ? AND decision = ''",
		p.Decision, p.Scope, p.By, tx.Now, p.Message, p.Run, p.N)
	if !decided {
		return false, err
	}
	return true, tx.AddWaited(p.Run, max(0, tx.Now-p.AskedAt))
}

// AddWaited adds to the time, in milliseconds, for which an open run has waited
// for others.
func (tx *Tx) AddWaited(run task.ID, ms task.Time) error {
	return tx.do("UPDATE runs SET waited = waited + ? WHERE id = ? AND ended_at IS NULL", int64(ms), run)
}
