package db

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"taskyard/task"
)

// Shared reports whether several servers may share the database.
func (d *DB) Shared() bool { return d.pg != nil }

// SeeServer records that a server is alive.
func (tx *Tx) SeeServer(s task.Server) error {
	return tx.do("INSERT INTO servers (id, version, address, started_at, seen_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "+
		"version = excluded.version, address = excluded.address, started_at = excluded.started_at, seen_at = excluded.seen_at",
		s.ID, s.Version, s.Address, s.StartedAt, tx.Now)
}

// DropServers forgets the servers that were not seen for so long, and when
// processes of yesterday wrote last.
func (tx *Tx) DropServers(silent time.Duration) error {
	if err := tx.do("DELETE FROM servers WHERE seen_at <= ?", tx.Now.Add(-silent)); err != nil {
		return err
	}
	return tx.do("DELETE FROM commits WHERE at < ?", tx.Now.Add(-24*time.Hour))
}

// Lead makes a server the leader for so long, if it is that already or the last
// one has not said for that long that it still is. It reports whether it leads now,
// and whether it did before.
func (tx *Tx) Lead(id string, d time.Duration) (leads, did bool, err error) {
	var server string
	var until task.Time
	found, err := optional(tx.row("SELECT server, until FROM leader WHERE one = 1").Scan(&server, &until))
	did = server == id && until > tx.Now
	if err != nil || found && server != id && until > tx.Now {
		return false, did, err
	}
	return true, did, tx.do("INSERT INTO leader (server, number, until) VALUES (?, 1, ?) ON CONFLICT (one) DO UPDATE SET "+
		"number = leader.number + CASE WHEN leader.server = excluded.server THEN 0 ELSE 1 END, server = excluded.server, until = excluded.until",
		id, tx.Now.Add(d))
}

// Resign ends that a server leads, so that another one does at once.
func (tx *Tx) Resign(id string) error {
	return tx.do("UPDATE leader SET until = 0 WHERE server = ?", id)
}

// ShiftServers moves when the servers were seen, after a gap in which none of
// them could be.
func (tx *Tx) ShiftServers(d time.Duration) error {
	return tx.do("UPDATE servers SET seen_at = seen_at + ?", d.Milliseconds())
}

// Servers returns the servers that share the database, the oldest first.
func (rx *Rx) Servers() ([]task.Server, error) {
	rows := rx.query("SELECT s.id, s.version, s.address, s.started_at, s.seen_at, CASE WHEN l.until > ? THEN 1 ELSE 0 END "+
		"FROM servers s LEFT JOIN leader l ON l.server = s.id ORDER BY s.started_at, s.id", rx.Now)
	return collect(rows, func(r rowScanner) (s task.Server, err error) {
		return s, r.Scan(&s.ID, &s.Version, &s.Address, &s.StartedAt, &s.SeenAt, &s.Leads)
	})
}

// Stranded returns the open runs whose server no longer exists.
func (rx *Rx) Stranded() ([]*task.Run, error) {
	return rx.runs("SELECT " + runCols + " FROM runs r WHERE r.status IN ('pending', 'running') AND r.server <> '' " +
		"AND NOT EXISTS (SELECT 1 FROM servers s WHERE s.id = r.server) ORDER BY r.id")
}

// IsStranded reports whether the server of a run is gone.
func (rx *Rx) IsStranded(server string) (bool, error) {
	n, err := rx.count("SELECT count(*) FROM servers WHERE id = ?", server)
	return server != "" && n == 0, err
}

// LeaveServer lets any server execute a queued run. Its conversation stays with
// the folder of the server that it had.
func (tx *Tx) LeaveServer(r *task.Run) (bool, error) {
	return tx.changeRun(r, "UPDATE runs SET server = '', session = '', folder = ''")
}

// KeepServers assigns queued runs to the servers that have the folders of
// their tasks, or else of the runs that delegated them, where these still live.
func (tx *Tx) KeepServers(runs ...task.ID) error {
	return tx.do(`UPDATE runs SET server = coalesce((SELECT s.id FROM runs p JOIN servers s ON s.id = p.server
 WHERE p.task_id = runs.task_id AND p.id < runs.id ORDER BY p.id DESC LIMIT 1),
 (SELECT s.id FROM runs p JOIN servers s ON s.id = p.server WHERE p.id = runs.parent_run), '')
 WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`, asJSON(runs))
}

// RunWaits returns since when calls of a run wait for what it delegated, by the
// servers on which they do. Those of a server that is gone, or has started again,
// are over.
func (rx *Rx) RunWaits(run task.ID) (map[string]task.Time, error) {
	var text string
	if ok, err := optional(rx.row("SELECT waits FROM runs WHERE id = ?", run).Scan(&text)); !ok || text == "" {
		return nil, err
	}
	var waits map[string]task.Time
	if err := json.Unmarshal([]byte(text), &waits); err != nil {
		return nil, err
	}
	list, err := rx.Servers()
	lives := map[string]bool{}
	for _, s := range list {
		lives[s.Process()] = true
	}
	maps.DeleteFunc(waits, func(server string, _ task.Time) bool { return !lives[server] })
	return waits, err
}

// SetRunWaits writes what RunWaits returns of an open run.
func (tx *Tx) SetRunWaits(run task.ID, waits map[string]task.Time) error {
	text := ""
	if len(waits) > 0 {
		text = asJSON(waits)
	}
	return tx.do("UPDATE runs SET waits = ? WHERE id = ? AND ended_at IS NULL", text, run)
}

// asLeader marks the context of what only the leader may write.
type asLeader struct{}

// AsLeader returns a context whose writes are refused as soon as the server id no
// longer leads.
func AsLeader(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, asLeader{}, id)
}

// errNotLeader undoes a write of a server that led when it began its work.
var errNotLeader = task.Errorf(task.Unavailable, task.CodeUnavailable, "Another server leads by now; try again in a moment")

// mayLead returns an error if the writer of a context has to lead, and does not.
func (tx *Tx) mayLead(leader string) error {
	if leader == "" {
		return nil
	}
	n, err := tx.count("SELECT count(*) FROM leader WHERE server = ? AND until > ?", leader, tx.Now)
	if err == nil && n == 0 {
		err = errNotLeader
	}
	return err
}
