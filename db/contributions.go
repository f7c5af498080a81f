package db

import (
	"encoding/json"

	"taskyard/task"
)

// Contributions returns what agents and tokens contributed to a task since a
// person last consented to it, by part and actor.
func (rx *Rx) Contributions(id task.ID) ([]task.Contribution, error) {
	rows := rx.query("SELECT part, actor, whole, rights, at FROM hands WHERE task_id = ? ORDER BY part, actor", id)
	return collect(rows, func(r rowScanner) (h task.Contribution, err error) {
		var rights string
		if err = r.Scan(&h.Part, &h.Actor, &h.AllRights, &rights, &h.At); err == nil {
			err = json.Unmarshal([]byte(rights), &h.Rights)
		}
		return h, err
	})
}

// PutContribution stores what an actor contributed to a part of a task.
func (tx *Tx) PutContribution(id task.ID, h task.Contribution) error {
	return tx.do(`INSERT INTO hands (task_id, part, actor, whole, rights, at) VALUES (?, ?, ?, ?, ?, ?)
 ON CONFLICT (task_id, part, actor) DO UPDATE SET whole = excluded.whole, rights = excluded.rights, at = excluded.at`,
		id, h.Part, h.Actor, h.AllRights, asJSON(h.Rights), h.At)
}

// DropContributions deletes the contributions to one part of a task.
func (tx *Tx) DropContributions(id task.ID, part task.Part) error {
	return tx.do("DELETE FROM hands WHERE task_id = ? AND part = ?", id, part)
}

// DropAllContributions deletes all contributions to a task.
func (tx *Tx) DropAllContributions(id task.ID) error {
	return tx.do("DELETE FROM hands WHERE task_id = ?", id)
}

// Bound returns what bounds the runs of a task, or nil.
func (rx *Rx) Bound(id task.ID) (*task.Bound, error) {
	var b task.Bound
	var ask string
	ok, err := optional(rx.row("SELECT tree_run, parent_run, depth, ask FROM task_bounds WHERE task_id = ?",
		id).Scan(&b.TreeRun, &b.ParentRun, &b.Depth, &ask))
	if !ok || err != nil {
		return nil, err
	}
	return &b, json.Unmarshal([]byte(ask), &b.Ask)
}

// PutBound writes what bounds the runs of a task.
func (tx *Tx) PutBound(id task.ID, b *task.Bound) error {
	return tx.do(`INSERT INTO task_bounds (task_id, tree_run, parent_run, depth, ask) VALUES (?, ?, ?, ?, ?)
 ON CONFLICT (task_id) DO UPDATE SET tree_run = excluded.tree_run, parent_run = excluded.parent_run,
 depth = excluded.depth, ask = excluded.ask`,
		id, b.TreeRun, b.ParentRun, b.Depth, asJSON(b.Ask))
}

// DropBound lifts what bounds the runs of a task.
func (tx *Tx) DropBound(id task.ID) error {
	return tx.do("DELETE FROM task_bounds WHERE task_id = ?", id)
}

// AddHandedOut counts that an agent had others do something.
func (tx *Tx) AddHandedOut(agent string) error {
	return tx.do("INSERT INTO handed_out (agent, at) VALUES (?, ?)", agent, tx.Now)
}

// HandedOutSince counts how often an agent had others do something since a
// moment, and when that was first.
func (rx *Rx) HandedOutSince(agent string, since task.Time) (n int, oldest task.Time, err error) {
	err = rx.row("SELECT count(*), coalesce(min(at), 0) FROM handed_out WHERE agent = ? AND at > ? AND at <= ?",
		agent, since, rx.Now).Scan(&n, &oldest)
	return n, oldest, err
}

// DropHandedOut forgets what no limit counts any more.
func (tx *Tx) DropHandedOut(before task.Time) error {
	return tx.do("DELETE FROM handed_out WHERE at <= ?", before)
}
