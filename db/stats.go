package db

import "taskyard/task"

// AgentLoad is how busy an agent is.
type AgentLoad struct {
	Queued   int       `json:"queued"`  // active tasks without a live claim
	Working  int       `json:"working"` // active tasks with a live claim
	Waiting  int       `json:"waiting"` // active tasks that wait for people
	Failed   int       `json:"failed"`  // active tasks whose last run failed
	Drafts   int       `json:"drafts"`
	OldestAt task.Time `json:"oldestAt,omitzero"` // creation of the oldest queued task
}

// noRunWaits is whether no open run of a task t waits for people, on behalf of
// its owner.
const noRunWaits = "NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = t.run_id AND r.agent = t.owner AND r.phase IN ('approval', 'permission'))"

// Loads returns the load of every owner of open tasks. Tasks are counted as
// they change; what few tasks are in has indexes, which are walked.
func (rx *Rx) Loads() (map[string]AgentLoad, error) {
	if err := rx.flushCounts(); err != nil {
		return nil, err
	}
	rows := rx.query(`SELECT owner, sum(CASE status WHEN 'active' THEN n ELSE 0 END),
 sum(CASE status WHEN 'draft' THEN n ELSE 0 END), coalesce((SELECT created_at FROM tasks t
 WHERE t.owner = c.owner AND status = 'active' AND created_at > 0 AND coalesce(claim_expires, 0) <= ? ORDER BY created_at LIMIT 1), 0)
 FROM task_counts c WHERE status IN ('active', 'draft') AND n > 0 GROUP BY owner`, rx.Now)
	loads, err := collectMap(rows, func(r rowScanner) (owner string, l AgentLoad, err error) {
		return owner, l, r.Scan(&owner, &l.Queued, &l.Drafts, &l.OldestAt)
	})
	if err != nil {
		return nil, err
	}
	for _, c := range []struct {
		q    string
		args []any
		add  func(l *AgentLoad, n int)
	}{
		{
			"SELECT owner, count(*) FROM tasks INDEXED BY tasks_lease WHERE claim_expires > ? GROUP BY owner",
			[]any{rx.Now},
			func(l *AgentLoad, n int) { l.Working, l.Queued = n, l.Queued-n },
		},
		// Of several reasons to wait for people each task has one.
		{
			"SELECT agent, count(*) FROM runs INDEXED BY runs_approval WHERE status = 'pending' AND phase = 'approval' GROUP BY agent",
			nil, func(l *AgentLoad, n int) { l.Waiting = n },
		},
		{
			"SELECT agent, count(*) FROM runs INDEXED BY runs_running WHERE status = 'running' AND phase = 'permission' GROUP BY agent",
			nil, func(l *AgentLoad, n int) { l.Waiting += n },
		},
		{
			"SELECT owner, count(*) FILTER (WHERE run_id IS NULL OR " + noRunWaits + ") FROM tasks t INDEXED BY tasks_question " +
				"WHERE question_id IS NOT NULL AND status = 'active' GROUP BY owner",
			nil, func(l *AgentLoad, n int) { l.Waiting += n },
		},
		{
			"SELECT owner, count(*) FILTER (WHERE question_id IS NULL AND (run_id IS NULL OR " + noRunWaits + ")) " +
				"FROM tasks t INDEXED BY tasks_blocker_canceled " +
				"WHERE blockers_canceled > 0 AND archived_at IS NULL AND status = 'active' GROUP BY owner",
			nil, func(l *AgentLoad, n int) { l.Waiting += n },
		},
		{"SELECT owner, count(*) FROM tasks INDEXED BY tasks_stuck WHERE failures > 0 AND archived_at IS NULL AND status = 'active' " +
			"AND run_id IS NULL GROUP BY owner", nil, func(l *AgentLoad, n int) { l.Failed = n }},
	} {
		if err := rx.addLoads(loads, c.q, c.args, c.add); err != nil {
			return nil, err
		}
	}
	return loads, nil
}

// addLoads adds a count by owner to their loads.
func (rx *Rx) addLoads(loads map[string]AgentLoad, q string, args []any, add func(l *AgentLoad, n int)) error {
	rows := rx.query(q, args...)
	return each(rows, func(r rowScanner) error {
		var owner string
		var n int
		err := r.Scan(&owner, &n)
		l := loads[owner]
		add(&l, n)
		loads[owner] = l
		return err
	})
}

// OwnerCount is how many open tasks an owner has.
type OwnerCount struct {
	Owner string
	Open  int
}

// OpenOwners counts the open tasks of each owner that has some.
func (rx *Rx) OpenOwners() ([]OwnerCount, error) {
	if err := rx.flushCounts(); err != nil {
		return nil, err
	}
	rows := rx.query("SELECT owner, sum(n) FROM task_counts WHERE status IN ('active', 'draft') AND n > 0 GROUP BY owner ORDER BY owner")
	return collect(rows, func(r rowScanner) (c OwnerCount, err error) { return c, r.Scan(&c.Owner, &c.Open) })
}

// OpenCount returns how many open tasks of a status an owner has; "" is any.
func (rx *Rx) OpenCount(owner string, status task.Status) (int, error) {
	if err := rx.flushCounts(); err != nil {
		return 0, err
	}
	return rx.count("SELECT coalesce(sum(n), 0) FROM task_counts WHERE status IN ('active', 'draft') "+
		"AND (?1 = '' OR owner = ?1) AND (?2 = '' OR status = ?2)", owner, status)
}

// InFlight returns the tasks that have a queued or running run.
func (rx *Rx) InFlight() ([]task.ID, error) {
	rows := rx.query("SELECT task_id FROM runs INDEXED BY runs_running WHERE status = 'running' " +
		"UNION ALL SELECT task_id FROM runs INDEXED BY runs_queued WHERE status = 'pending' AND phase = 'queued' ORDER BY 1")
	return collect(rows, column[task.ID])
}

// ArchivedSince counts tasks that became history since a moment, by status.
func (rx *Rx) ArchivedSince(since task.Time) (done, canceled int, err error) {
	err = rx.row("SELECT count(*) FILTER (WHERE status = 'done'), count(*) FILTER (WHERE status = 'canceled') FROM tasks "+
		"WHERE archived_at IS NOT NULL AND archived_at >= ?", since).Scan(&done, &canceled)
	return done, canceled, err
}

// RunTimes returns the durations in ms of the last completed runs.
func (rx *Rx) RunTimes(limit int) ([]int64, error) {
	rows := rx.query("SELECT ended_at - started_at FROM runs WHERE status = 'completed' ORDER BY id DESC LIMIT ?", limit)
	return collect(rows, column[int64])
}

// Counts are the numbers of rows in the database.
type Counts struct{ Tasks, Archived, Runs, Events int }

// Counts counts rows by their highest ids, and archived tasks by what their
// owners have, not one by one.
func (rx *Rx) Counts() (c Counts, err error) {
	if err := rx.flushCounts(); err != nil {
		return c, err
	}
	err = rx.row(`SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'tasks'), 0),
 (SELECT coalesce(sum(n), 0) FROM task_counts WHERE status IN ('done', 'canceled')),
 coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'runs'), 0), coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)`).
		Scan(&c.Tasks, &c.Archived, &c.Runs, &c.Events)
	return c, err
}

// Engine is the database that stores the instance.
type Engine struct {
	Name  string // such as "PostgreSQL 17.2"; the build has the version of SQLite
	Bytes int64  // of the database, without its log
}

var readEngine = storeSQL{
	"SELECT 'SQLite', page_count * page_size FROM pragma_page_count, pragma_page_size",
	"SELECT 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1), pg_database_size(current_database())",
}

// Engine describes the database.
func (rx *Rx) Engine() (e Engine, err error) {
	err = rx.row(readEngine.forStore(rx)).Scan(&e.Name, &e.Bytes)
	return e, err
}
