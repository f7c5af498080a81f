package db

import (
	"encoding/json"
	"errors"
	"slices"

	"taskyard/task"
)

const (
	// Votes from before the failed merge of an earlier result with the same commit do not count, nor, once the result is flagged
	// (see task.FlagUnmergeable), with the same patch.
	resultCols = `s.id, s.task_id, s.number, coalesce(s.run_id, 0), s.author, s.summary, s.resources, s.project, s.branch,
 s.base, s.head, s.patch, s.digest, s.policy, s.flags, s.state, s.created_at,
 (SELECT json_group_array(json_object('by', person, 'role', role, 'accept', json(CASE accept WHEN 1 THEN 'true' ELSE 'false' END),
 'digest', digest, 'text', text, 'at', at))
 FROM (SELECT * FROM votes v WHERE v.task_id = s.task_id AND v.digest = s.digest
 AND v.at >= (SELECT coalesce(max(m.ended_at), 0) FROM merges m CROSS JOIN results f ON f.id = m.result_id
 WHERE m.task_id = s.task_id AND m.state = 'failed' AND f.id < s.id
 AND (f.head = s.head OR f.patch = s.patch AND s.flags LIKE '%"` + task.FlagUnmergeable + `"%')) ORDER BY at, person))`
	checkCols = `id, task_id, name, command, required, commit_id, verdict, exit_code, reason, millis, log_hash, level, merge,
 asked_by, created_at`
)

func scanResult(r rowScanner) (*task.Result, error) {
	s := &task.Result{Checks: []task.CheckRun{}}
	var resources, policy, flags, votes string
	err := r.Scan(&s.ID, &s.TaskID, &s.Number, &s.RunID, &s.Author, &s.Summary, &resources, &s.Project, &s.Branch,
		&s.Base, &s.Head, &s.Patch, &s.Digest, &policy, &flags, &s.State, &s.CreatedAt, &votes)
	if err != nil {
		return nil, err
	}
	var cast []struct {
		task.Vote
		At int64 `json:"at"` // the moment in ms, not as JSON has it elsewhere
	}
	err = errors.Join(json.Unmarshal([]byte(resources), &s.Resources), json.Unmarshal([]byte(policy), &s.Policy),
		json.Unmarshal([]byte(flags), &s.Flags), json.Unmarshal([]byte(votes), &cast))
	s.Votes = make([]task.Vote, len(cast))
	for i, v := range cast {
		v.Vote.At = task.Time(v.At)
		s.Votes[i] = v.Vote
	}
	return s, err
}

// results reads results with their checks.
func (rx *Rx) results(q string, args ...any) ([]*task.Result, error) {
	list, err := collect(rx.query("SELECT "+resultCols+" FROM results s "+q, args...), scanResult)
	for _, s := range list {
		if err == nil {
			s.Checks, err = rx.checkRuns("result_id = ? AND merge = 0", s.ID)
		}
	}
	return list, err
}

// Results returns the results of a task, the newest first.
func (rx *Rx) Results(id task.ID, limit int) ([]*task.Result, error) {
	return rx.results("WHERE s.task_id = ? ORDER BY s.number DESC LIMIT ?", id, limit)
}

// LastResult returns the newest result of a task, nil if it has none.
func (rx *Rx) LastResult(id task.ID) (*task.Result, error) { return first(rx.Results(id, 1)) }

// Result returns one result of a task by its number. Error: unknown.
func (rx *Rx) Result(id task.ID, number int) (*task.Result, error) {
	s, err := first(rx.results("WHERE s.task_id = ? AND s.number = ?", id, number))
	if err == nil && s == nil {
		err = task.ResultNotFound(id, number)
	}
	return s, err
}

// ResultByID returns one result. Error: unknown.
func (rx *Rx) ResultByID(id task.ID) (*task.Result, error) {
	s, err := first(rx.results("WHERE s.id = ?", id))
	if err == nil && s == nil {
		err = task.Errorf(task.NotFound, task.CodeResultNotFound, "There is no result with the id %d", id)
	}
	return s, err
}

// ResultsInReview returns the results that wait for people, the oldest first.
func (rx *Rx) ResultsInReview(limit int) ([]*task.Result, error) {
	return rx.results("INDEXED BY results_review WHERE s.state = 'review' ORDER BY s.id LIMIT ?", limit)
}

// OverdueResults returns results in review that have a time limit, were created
// before a given time, and have caused no reminder yet.
func (rx *Rx) OverdueResults(limit int) ([]*task.Result, error) {
	return rx.results(`INDEXED BY results_review WHERE s.state = 'review' AND s.reminded = 0
 AND coalesce(CAST(json_extract(s.policy, '$.expiresSeconds') AS BIGINT), 0) > 0
 AND s.created_at + CAST(json_extract(s.policy, '$.expiresSeconds') AS BIGINT) * 1000 <= ? ORDER BY s.id LIMIT ?`, rx.Now, limit)
}

// SetReminded records that the reviewers of a result were reminded.
func (tx *Tx) SetReminded(id task.ID) error {
	return tx.do("UPDATE results SET reminded = ? WHERE id = ?", tx.Now, id)
}

// first returns the first of a list, nil if there is none.
func first[T any](list []*T, err error) (*T, error) {
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// InsertResult writes a new result with the next number of its task, and
// returns its id. s.Number is set.
func (tx *Tx) InsertResult(s *task.Result) (task.ID, error) {
	n, err := tx.count("SELECT coalesce(max(number), 0) FROM results WHERE task_id = ?", s.TaskID)
	if err != nil {
		return 0, err
	}
	s.Number = n + 1
	return tx.insert(`INSERT INTO results (task_id, number, run_id, author, summary, resources, project, branch, base, head,
 patch, digest, policy, flags, state, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.TaskID, s.Number, nullZero(s.RunID), s.Author, s.Summary, asJSON(s.Resources), s.Project, s.Branch, s.Base, s.Head,
		s.Patch, s.Digest, asJSON(s.Policy), asJSON(s.Flags), s.State, tx.Now)
}

// InsertResultFiles records which files a result changes, while it is open.
func (tx *Tx) InsertResultFiles(id task.ID, project string, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	return tx.do("INSERT INTO result_files (project, path, result_id) SELECT ?, value, ? FROM json_each(?) "+
		"WHERE value <> '' ON CONFLICT DO NOTHING",
		project, id, asJSON(paths))
}

// ResultFiles returns which files an open result changes.
func (rx *Rx) ResultFiles(id task.ID) ([]string, error) {
	return collect(rx.query("SELECT path FROM result_files WHERE result_id = ? ORDER BY path", id), column[string])
}

// Overlaps returns the other open results of the project that change files of
// a result, the oldest first, with at most task.MaxOverlapFiles of these files
// each. It looks at the first 5,000 pairs of files.
func (rx *Rx) Overlaps(id task.ID, limit int) ([]task.Overlap, error) {
	rows := rx.query(`WITH o AS (SELECT b.result_id AS id, b.path FROM result_files a INDEXED BY result_files_result
 CROSS JOIN result_files b ON b.project = a.project AND b.path = a.path WHERE a.result_id = ?1 AND b.result_id <> ?1 LIMIT 5000)
 SELECT s.task_id, t.title, s.number, s.state, count(*), json_group_array(o.path) FROM o CROSS JOIN results s ON s.id = o.id
 CROSS JOIN tasks t ON t.id = s.task_id GROUP BY o.id, s.task_id, t.title, s.number, s.state ORDER BY o.id LIMIT ?2`, id, limit)
	return collect(rows, func(r rowScanner) (o task.Overlap, err error) {
		var paths string
		if err = r.Scan(&o.TaskID, &o.Title, &o.Result, &o.State, &o.Total, &paths); err != nil {
			return o, err
		}
		if err = json.Unmarshal([]byte(paths), &o.Files); err != nil {
			return o, err
		}
		slices.Sort(o.Files)
		o.Files = o.Files[:min(len(o.Files), task.MaxOverlapFiles)]
		return o, nil
	})
}

// MoveResult changes the state of a result, and reports whether it still had the
// first one.
func (tx *Tx) MoveResult(id task.ID, from, to task.ResultState) (bool, error) {
	return tx.changedOne("UPDATE results SET state = ? WHERE id = ? AND state = ?", to, id, from)
}

// CloseResults moves the open results of a task to a final state.
func (tx *Tx) CloseResults(id task.ID, to task.ResultState) error {
	return tx.do("UPDATE results SET state = ? WHERE task_id = ? AND state IN ('review', 'accepted')", to, id)
}

// PutVote writes the decision of a person on a digest; an earlier one on the
// same digest is replaced.
func (tx *Tx) PutVote(id task.ID, v task.Vote) error {
	return tx.do(`INSERT INTO votes (task_id, digest, person, role, accept, text, at) VALUES (?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT (task_id, digest, person) DO UPDATE SET role = excluded.role, accept = excluded.accept,
 text = excluded.text, at = excluded.at`,
		id, v.Digest, v.By, v.Role, v.Accept, v.Text, tx.Now)
}

func scanCheckRun(r rowScanner) (c task.CheckRun, err error) {
	return c, r.Scan(&c.ID, &c.TaskID, &c.Name, &c.Command, &c.Required, &c.Commit, &c.Verdict, &c.ExitCode, &c.Reason,
		&c.Millis, &c.LogSHA256, &c.Level, &c.Merge, &c.AskedBy, &c.CreatedAt)
}

func (rx *Rx) checkRuns(cond string, args ...any) ([]task.CheckRun, error) {
	return collect(rx.query("SELECT "+checkCols+" FROM check_runs WHERE "+cond+" ORDER BY id", args...), scanCheckRun)
}

// CheckRuns returns the last executions of the checks of a task, the newest
// first, without their logs.
func (rx *Rx) CheckRuns(id task.ID, limit int) ([]task.CheckRun, error) {
	return collect(rx.query("SELECT "+checkCols+" FROM check_runs WHERE task_id = ? ORDER BY id DESC LIMIT ?", id, limit), scanCheckRun)
}

// CheckRun returns one execution of a check of a task with its log. Error: unknown.
func (rx *Rx) CheckRun(id, check task.ID) (task.CheckRun, error) {
	var log string
	if err := rx.row("SELECT log FROM check_runs WHERE id = ? AND task_id = ?", check, id).Scan(&log); err != nil {
		if ok, err := optional(err); !ok && err == nil {
			return task.CheckRun{}, task.Errorf(task.NotFound, task.CodeNotFound, "Task %d has no execution %d of a check", id, check)
		}
		return task.CheckRun{}, err
	}
	list, err := rx.checkRuns("id = ?", check)
	if err != nil || len(list) == 0 {
		return task.CheckRun{}, err
	}
	list[0].Log = log
	return list[0], nil
}

// InsertCheckRun writes what a check found for a result, 0 for none, and for
// the completion of a run, 0 for none.
func (tx *Tx) InsertCheckRun(c task.CheckRun, result, run task.ID) (task.ID, error) {
	return tx.insert(`INSERT INTO check_runs (task_id, result_id, run_id, name, command, required, commit_id, verdict, exit_code,
 reason, millis, log, log_hash, level, merge, asked_by, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.TaskID, nullZero(result), nullZero(run), c.Name, c.Command, c.Required, c.Commit, c.Verdict, c.ExitCode,
		c.Reason, c.Millis, c.Log, c.LogSHA256, c.Level, c.Merge, c.AskedBy, tx.Now)
}

// RefusedCompletions counts how often the completion of a task was refused to a
// run (0: to those who are no run) since its last result, because checks did
// not pass.
func (rx *Rx) RefusedCompletions(id, run task.ID) (int, error) {
	return rx.count(`SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM check_runs WHERE task_id = ?1 AND result_id IS NULL
 AND asked_by = '' AND coalesce(run_id, 0) = ?2`+sinceResult+` GROUP BY name)`, id, run)
}

// sinceResult keeps the check runs of the task ?1 after those of its last result.
const sinceResult = ` AND id > coalesce((SELECT max(id) FROM check_runs WHERE task_id = ?1 AND result_id IS NOT NULL AND merge = 0), 0)`

// addReview sets what became of the last result of a task of a project.
func (rx *Rx) addReview(t *task.Task) error {
	if t.Project == "" && t.Demands.Empty() {
		return nil
	}
	review := &task.TaskReview{}
	last, err := rx.LastResult(t.ID)
	if err != nil {
		return err
	}
	if last != nil {
		review.Result, review.State, review.Flags, review.ID = last.Number, last.State, last.Flags, last.ID
	}
	if err := rx.failedChecks(t.ID, review); err != nil {
		return err
	}
	comments, err := rx.ReviewComments(t.ID, "")
	if err != nil {
		return err
	}
	for _, c := range comments {
		if c.State == task.CommentOpen {
			review.Comments = append(review.Comments, c)
		}
	}
	review.Bound()
	if review.Result != 0 || len(review.FailedChecks) > 0 {
		t.Review = review
	}
	return nil
}

// failedChecks sets the checks that refused the last completion of a task, or
// its last merge, unless a result followed.
func (rx *Rx) failedChecks(id task.ID, review *task.TaskReview) error {
	m, err := first(rx.merges("WHERE m.task_id = ? ORDER BY m.id DESC LIMIT 1", id))
	if err != nil {
		return err
	}
	if m != nil && m.State == task.MergeFailed && m.Number == review.Result {
		review.Merge = m.Code + ": " + task.ClipText(m.Reason, 4000)
	}
	rows := rx.query(`SELECT id, name, command, commit_id, verdict, exit_code, reason, log, created_at FROM check_runs WHERE task_id = ?1
 AND result_id IS NULL AND asked_by = '' AND required = 1 AND verdict <> 'passed' AND created_at = (SELECT max(created_at)
 FROM check_runs WHERE task_id = ?1 AND result_id IS NULL AND asked_by = '')`+sinceResult+` ORDER BY id LIMIT 5`, id)
	review.FailedChecks, err = collect(rows, func(r rowScanner) (c task.CheckRun, err error) {
		c.TaskID, c.Required = id, true
		return c, r.Scan(&c.ID, &c.Name, &c.Command, &c.Commit, &c.Verdict, &c.ExitCode, &c.Reason, &c.Log, &c.CreatedAt)
	})
	return err
}
