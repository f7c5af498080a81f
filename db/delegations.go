package db

import (
	"encoding/json"
	"slices"

	"taskyard/task"
)

// DelegatedTask returns the newest run of a task that carries the request of
// its delegation, or nil if the task was not delegated.
func (rx *Rx) DelegatedTask(taskID task.ID) (*task.Run, error) {
	return nilIfNoRow(scanRun(rx.row("SELECT "+runCols+" FROM runs r WHERE r.task_id = ? AND r.ask IS NOT NULL "+
		"ORDER BY r.id DESC LIMIT 1", taskID)))
}

// OpenRequest returns the newest run of the open subtask of a task that was
// delegated by a request with a key, and waits, runs or asks a person; or 0.
func (rx *Rx) OpenRequest(parent task.ID, key string) (run task.ID, err error) {
	_, err = optional(rx.row(`SELECT (SELECT max(id) FROM runs WHERE task_id = t.id) FROM tasks t JOIN task_bounds b ON b.task_id = t.id
 WHERE t.parent_id = ? AND t.archived_at IS NULL AND (t.run_id IS NOT NULL OR t.question_id IS NOT NULL)
 AND json_extract(b.ask, '$.request') = ? ORDER BY t.id DESC LIMIT 1`, parent, key).Scan(&run))
	return run, err
}

// OpenChildren returns the waiting and running runs that a run delegated.
func (rx *Rx) OpenChildren(run task.ID) ([]*task.Run, error) {
	return rx.runs("SELECT "+runCols+" FROM runs r INDEXED BY runs_parent WHERE r.parent_run = ? "+
		"AND r.status IN ('pending', 'running') ORDER BY r.id", run)
}

// Children returns the runs that a run delegated, retries too, oldest first.
func (rx *Rx) Children(run task.ID, limit int) ([]*task.Run, error) {
	return rx.runs("SELECT "+runCols+" FROM runs r INDEXED BY runs_parent WHERE r.parent_run = ? ORDER BY r.id LIMIT ?", run, limit)
}

// UnreceivedDelegations returns the tasks that a run delegated, that have
// neither an open run nor an open question, and whose last end has not been
// reported to the run.
func (rx *Rx) UnreceivedDelegations(run task.ID) ([]task.ID, error) {
	rows := rx.query(`SELECT r.task_id FROM runs r INDEXED BY runs_parent JOIN tasks t ON t.id = r.task_id
 WHERE r.parent_run = ?1 AND t.run_id IS NULL AND t.question_id IS NULL GROUP BY r.task_id
 HAVING instr((SELECT ' ' || p.received FROM runs p WHERE p.id = ?1), ' ' || max(r.id) || ' ') = 0 ORDER BY r.task_id`, run)
	return collect(rows, column[task.ID])
}

// Received reports whether the end of a delegated run has been reported to the
// run that delegated it.
func (rx *Rx) Received(run, delegated task.ID) (bool, error) {
	n, err := rx.count("SELECT count(*) FROM runs WHERE id = ? AND instr(' ' || received, ?) > 0", run, " "+delegated.String()+" ")
	return n > 0, err
}

// AddReceived records that the end of a delegated run was reported to the open
// run that delegated it. The record is cleared when that run starts again.
func (tx *Tx) AddReceived(run, delegated task.ID) error {
	return tx.do("UPDATE runs SET received = received || ?1 || ' ' WHERE id = ?2 AND ended_at IS NULL "+
		"AND instr(' ' || received, ' ' || ?1 || ' ') = 0", delegated.String(), run)
}

// DelegatedBy reports whether a run delegated a task.
func (rx *Rx) DelegatedBy(run, taskID task.ID) (bool, error) {
	n, err := rx.count("SELECT count(*) FROM runs INDEXED BY runs_parent WHERE parent_run = ? AND task_id = ?", run, taskID)
	return n > 0, err
}

// QueuedDelegation is a queued delegated run whose asking run is running.
type QueuedDelegation struct {
	Run  *task.Run
	Idle bool // no other run that the same run delegated is running
}

// QueuedDelegations returns the queued runs that may start now on a server, "" for any, and
// were delegated by a run that is running, in order.
func (rx *Rx) QueuedDelegations(server string) ([]QueuedDelegation, error) {
	list, err := rx.runs("SELECT "+runCols+` FROM runs p INDEXED BY runs_running CROSS
 JOIN runs r INDEXED BY runs_parent ON r.parent_run = p.id
 WHERE p.status = 'running' AND r.status = 'pending' AND r.phase = 'queued' AND r.not_before <= ?
 AND (?2 = '' OR r.server IN ('', ?2)) ORDER BY r.id`, rx.Now, server)
	if err != nil {
		return nil, err
	}
	lent := make([]QueuedDelegation, len(list))
	for i, r := range list {
		n, err := rx.count("SELECT count(*) FROM runs INDEXED BY runs_parent WHERE parent_run = ? AND status = 'running'", r.ParentRun)
		if err != nil {
			return nil, err
		}
		lent[i] = QueuedDelegation{r, n == 0}
	}
	return lent, nil
}

// Active counts the running runs of an agent that may not be waiting for a run
// that they delegated.
func (rx *Rx) Active(agent string) (int, error) {
	return rx.count(`SELECT count(*) FROM runs r INDEXED BY runs_running WHERE r.status = 'running' AND r.agent = ?
 AND NOT EXISTS (SELECT 1 FROM runs c INDEXED BY runs_parent WHERE c.parent_run = r.id
 AND c.status IN ('pending', 'running') AND c.phase <> 'approval')`, agent)
}

// TaskUse sums what the ended runs of a task used.
func (rx *Rx) TaskUse(taskID task.ID) (task.Usage, error) {
	sum, _, err := rx.use("SELECT r.usage FROM runs r INDEXED BY runs_task WHERE r.task_id = ? AND r.ended_at IS NOT NULL", taskID)
	return sum, err
}

// UseBelow sums what the runs used that a run delegated or otherwise brought
// about, at any depth, and returns how many they are.
func (rx *Rx) UseBelow(run task.ID) (sum task.Usage, runs int, err error) {
	return rx.use(`WITH RECURSIVE down (id, usage, n) AS (
 SELECT id, usage, 1 FROM runs WHERE tree_run = ?
 UNION ALL SELECT c.id, c.usage, down.n + 1 FROM down CROSS JOIN runs c ON c.tree_run = down.id WHERE down.n < 20)
 SELECT usage FROM down`, run)
}

func (rx *Rx) use(q string, args ...any) (sum task.Usage, n int, err error) {
	rows := rx.query(q, args...)
	parts, err := collect(rows, func(r rowScanner) (u task.Usage, err error) {
		var text string
		if err = r.Scan(&text); err == nil {
			err = json.Unmarshal([]byte(text), &u)
		}
		return u, err
	})
	for _, u := range parts {
		sum = sum.Add(u)
	}
	return sum, len(parts), err
}

// ReportedWork is what the transcript of a run reports of its work: the use so far,
// which nothing else knows before the end, and the files that its tools create
// and edit wrote and that its tool read was given, in order, at most 200 each.
// Lines that are not as they should be are passed over: they are the program's
// own words.
func (rx *Rx) ReportedWork(run task.ID) (u task.Usage, files, seen []string, err error) {
	rows := rx.query("SELECT type, coalesce(data, '') FROM messages WHERE run_id = ? "+
		"AND type IN ('usage', 'tool_call', 'tool_result') ORDER BY id", run)
	lines, err := collect(rows, func(r rowScanner) (l [2]string, err error) { return l, r.Scan(&l[0], &l[1]) })
	files = []string{}
	called := map[string]string{} // path by the id of the call
	for _, l := range lines {
		var d reportedLine
		if err := json.Unmarshal([]byte(l[1]), &d); err != nil {
			d = reportedLine{}
		}
		u = u.Add(task.ReportedUsage(l[0], []byte(l[1])))
		switch path := d.Input.Path; {
		case l[0] == "tool_result":
			if path := called[string(d.ID)]; d.Failed && path != "" {
				files = slices.DeleteFunc(files, func(f string) bool { return f == path })
			}
			delete(called, string(d.ID))
		case l[0] == "tool_call" && d.Tool == "read":
			if path != "" && len(seen) < 200 && !slices.Contains(seen, path) {
				seen = append(seen, path)
			}
		case l[0] == "tool_call":
			if (d.Tool == "create" || d.Tool == "edit") && path != "" && len(files) < 200 && !slices.Contains(files, path) {
				files = append(files, path)
				called[string(d.ID)] = path
			}
		}
	}
	return u, files, seen, err
}

// LastRunText returns the last text of a failed run, if it is among its last lines.
func (rx *Rx) LastRunText(run task.ID) (text string, err error) {
	err = rx.row("SELECT "+lastText+" FROM runs r WHERE r.id = ?", run).Scan(&text)
	return task.ClipText(text, 1000), err
}

// reportedLine is the data of a transcript line, as far as it matters here.
type reportedLine struct {
	Tool   string          `json:"tool"`
	ID     json.RawMessage `json:"id"`
	Failed bool            `json:"error"`
	Input  struct {
		Path string `json:"path"`
	} `json:"input"`
}
