package db

import (
	"encoding/json"
	"strings"
	"time"

	"taskyard/task"
)

const runCols = `r.id, r.task_id, (SELECT title FROM tasks WHERE id = r.task_id),
 r.agent, r.status, r.phase, r.cause, r.asked_by, r.attempt,
 coalesce(r.retry_of, 0), r.depth, r.reason, r.summary, r.artifacts, r.usage, r.limits,
 r.model, r.definition_hash, coalesce(r.spec, ''), r.spec_hash,
 coalesce(r.approval_expires, 0), r.decision, r.decided_by, coalesce(r.decided_at, 0),
 r.scope, r.decision_reason, r.follow_up, r.claim_id, r.lease,
 coalesce(r.lease_expires, 0), r.pid, r.pid_start, r.boot_id, r.created_at, r.not_before,
 coalesce(r.started_at, 0), coalesce(r.heartbeat_at, 0), coalesce(r.ended_at, 0),
 coalesce(r.parent_run, 0), coalesce((SELECT p.task_id FROM runs p WHERE p.id = r.parent_run), 0), coalesce(r.ask, ''), r.waited,
 r.worker, r.told, r.told_bytes, r.session, r.folder, coalesce(r.closing_at, 0), coalesce(r.tree_run, 0), r.asked_token,
 r.approval_why, CASE WHEN r.status = 'pending' AND r.phase = 'approval' THEN coalesce(r.held, '') ELSE '' END, r.why, r.news, r.server`

// runBrief is runCols for lists that nobody runs from: without the prompts,
// which are most of a run.
var runBrief = strings.Replace(runCols, "coalesce(r.spec, '')", "''", 1)

func scanRun(s rowScanner) (*task.Run, error) {
	r, a := &task.Run{}, task.Approval{}
	var artifacts, usage, limits, spec, ask, decision string
	err := s.Scan(&r.ID, &r.TaskID, &r.TaskTitle, &r.Agent, &r.Status, &r.Phase, &r.Cause, &r.AskedBy, &r.Attempt,
		&r.RetryOf, &r.Depth, &r.Reason, &r.Summary, &artifacts, &usage, &limits, &r.Model, &r.DefinitionHash, &spec, &a.Version,
		&a.ExpiresAt, &a.Decision, &a.By, &a.At, &a.Scope, &a.Reason, &r.FollowUp, &r.ClaimID, &r.Lease,
		&r.LeaseExpires, &r.PID, &r.PIDStart, &r.BootID, &r.CreatedAt, &r.NotBefore, &r.StartedAt, &r.HeartbeatAt, &r.EndedAt,
		&r.ParentRun, &r.ParentRunTask, &ask, &r.WaitedMs, &r.Worker, &r.ReportedEvents, &r.ReportedBytes, &r.Session,
		&r.Folder, &r.ClosingAt, &r.TreeRun, &r.AskedToken, &a.RequestReason, &decision, &r.StartReason, &r.FollowUpReason, &r.Server)
	if err != nil {
		return nil, err
	}
	if a.ExpiresAt != 0 || a.Decision != "" {
		r.Approval = &a
	}
	for _, f := range []struct {
		text string
		to   any
	}{{artifacts, &r.Artifacts}, {usage, &r.Usage}, {limits, &r.Limits}, {spec, &r.Spec}, {ask, &r.Ask}, {decision, &r.PendingDecision}} {
		if f.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(f.text), f.to); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func askJSON(a *task.Ask) any {
	if a == nil {
		return nil
	}
	return asJSON(a)
}

func (rx *Rx) runs(q string, args ...any) ([]*task.Run, error) {
	return collect(rx.query(q, args...), scanRun)
}

// runsWithin returns runs within the budget of the answer.
func (rx *Rx) runsWithin(q string, args ...any) ([]*task.Run, error) {
	list, _, err := within(rx, rx.query(q, args...), scanRun)
	return list, err
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only plain structs come here
	}
	return string(b)
}

// Run returns one run, with what it asks while it waits for a permission; an
// unknown id is RunNotFound.
func (rx *Rx) Run(id task.ID) (*task.Run, error) {
	r, err := nilIfNoRow(scanRun(rx.row("SELECT "+runCols+" FROM runs r WHERE r.id = ?", id)))
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, task.RunNotFound(id)
	}
	return r, rx.addPermission(r)
}

// addPermission fills in what a run waits for a person to permit.
func (rx *Rx) addPermission(r *task.Run) (err error) {
	if r.Phase == task.PhasePermission && r.Status == task.RunRunning {
		r.Permission, err = rx.LastPermission(r.ID)
	}
	return err
}

// OpenRun returns the task's waiting or running run, or nil.
func (rx *Rx) OpenRun(taskID task.ID) (*task.Run, error) {
	r, err := nilIfNoRow(scanRun(rx.row("SELECT "+runCols+" FROM runs r WHERE r.task_id = ? AND r.status IN ('pending', 'running')", taskID)))
	if r == nil {
		return nil, err
	}
	return r, rx.addPermission(r)
}

// InsertRun writes a new pending run and gates its task.
func (tx *Tx) InsertRun(r *task.Run) (task.ID, error) {
	var spec, expires any
	var version string
	if r.Spec != nil {
		spec = asJSON(r.Spec)
	}
	a := r.Approval
	if a == nil {
		a = &task.Approval{}
	}
	expires, version = nullZero(a.ExpiresAt), a.Version
	id, err := tx.insert(`INSERT INTO runs (task_id, agent, status, phase, cause, asked_by,
 attempt, retry_of, depth, limits, model, definition_hash,
 spec, spec_hash, approval_expires, decision, decided_by, decided_at, scope, created_at, not_before,
 parent_run, ask, session, folder, tree_run, asked_token, approval_why, why)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.TaskID, r.Agent, r.Status, r.Phase, r.Cause, r.AskedBy, r.Attempt, nullZero(r.RetryOf), r.Depth, asJSON(r.Limits), r.Model,
		r.DefinitionHash,
		spec, version, expires, a.Decision, a.By, nullZero(a.At), a.Scope, tx.Now, r.NotBefore, nullZero(r.ParentRun),
		askJSON(r.Ask), r.Session, r.Folder, nullZero(r.TreeRun), r.AskedToken, a.RequestReason, r.StartReason)
	if err != nil {
		return 0, err
	}
	return id, tx.do("UPDATE tasks SET run_id = ? WHERE id = ?", id, r.TaskID)
}

// InsertRuns is InsertRun for queued runs that only their tasks and agents tell
// apart, in three statements: cause, asker and attempt are those of the first.
// It sets their ids, which ascend.
func (tx *Tx) InsertRuns(list []*task.Run) error {
	rows, ids := make([][5]any, len(list)), make([]int64, len(list))
	limits := map[task.Limits]string{}
	for i, r := range list {
		if limits[r.Limits] == "" {
			limits[r.Limits] = asJSON(r.Limits)
		}
		ids[i] = int64(r.TaskID)
		rows[i] = [5]any{ids[i], r.Agent, limits[r.Limits], r.Model, r.DefinitionHash}
	}
	a := list[0]
	err := tx.do(`INSERT INTO runs (task_id, agent, limits, model, definition_hash,
 status, phase, cause, asked_by, asked_token, attempt, created_at)
 SELECT CAST(json_extract(value, '$[0]') AS BIGINT), json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]'),
 json_extract(value, '$[4]'), 'pending', 'queued', ?, ?, ?, ?, ? FROM json_each(?)`,
		a.Cause, a.AskedBy, a.AskedToken, a.Attempt, tx.Now, asJSON(rows))
	if err != nil {
		return err
	}
	tasks := asJSON(ids)
	if err := tx.do(`UPDATE tasks SET run_id = (SELECT r.id FROM runs r WHERE r.task_id = tasks.id AND r.status IN ('pending', 'running'))
 WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`, tasks); err != nil {
		return err
	}
	found := tx.query("SELECT t.run_id FROM json_each(?) j CROSS JOIN tasks t ON t.id = CAST(j.value AS BIGINT) ORDER BY j.key", tasks)
	i := 0
	return each(found, func(r rowScanner) error {
		i++
		return r.Scan(&list[i-1].ID)
	})
}

// changeRun runs an UPDATE of a run that still has the state and the lease of r,
// and reports whether it has.
func (tx *Tx) changeRun(r *task.Run, set string, args ...any) (bool, error) {
	return tx.changedOne(set+" WHERE id = ? AND status = ? AND phase = ? AND lease = ?", append(args, r.ID, r.Status, r.Phase, r.Lease)...)
}

// MoveRun changes phase and status of an open run to another open state and
// reports whether the run was still in its old state.
func (tx *Tx) MoveRun(r *task.Run, next task.State) (bool, error) {
	return tx.changeRun(r, "UPDATE runs SET status = ?, phase = ?", next.Status, next.Phase)
}

// SetApproval writes the frozen spec, its hash, limits and the decision of a
// pending run, and moves it to phase.
func (tx *Tx) SetApproval(r *task.Run, phase task.Phase) (bool, error) {
	a := r.Approval
	return tx.changeRun(r, `UPDATE runs SET phase = ?, spec = ?, spec_hash = ?, limits = ?, model = ?, definition_hash = ?,
 approval_expires = ?, decision = ?, decided_by = ?, decided_at = ?, scope = ?, decision_reason = ?, approval_why = ?,
 held = NULL, held_until = NULL`,
		phase, asJSON(r.Spec), a.Version, asJSON(r.Limits), r.Model, r.DefinitionHash, nullZero(a.ExpiresAt),
		a.Decision, a.By, nullZero(a.At), a.Scope, a.Reason, a.RequestReason)
}

// SetGrant records what a reviewer approved for all runs of a task.
func (tx *Tx) SetGrant(taskID task.ID, hash, by string, limits task.Limits) error {
	return tx.do("UPDATE tasks SET grant_hash = ?, grant_by = ?, grant_limits = ? WHERE id = ?", hash, by, asJSON(limits), taskID)
}

// Grant returns what SetGrant stored; hash is "" if there is none.
func (rx *Rx) Grant(taskID task.ID) (hash, by string, limits task.Limits, err error) {
	var l string
	err = rx.row("SELECT coalesce(grant_hash, ''), coalesce(grant_by, ''), coalesce(grant_limits, '{}') "+
		"FROM tasks WHERE id = ?", taskID).Scan(&hash, &by, &l)
	if err == nil {
		err = json.Unmarshal([]byte(l), &limits)
	}
	return hash, by, limits, err
}

// StartRun moves a queued run to running/starting under a new lease and notes
// the claim it holds.
func (tx *Tx) StartRun(r *task.Run, claimID int64, lease time.Duration) (bool, error) {
	return tx.changeRun(r, `UPDATE runs SET status = 'running', phase = 'starting', lease = lease + 1,
 lease_expires = ?, started_at = ?, heartbeat_at = ?, claim_id = ?,
 spec = ?, limits = ?, model = ?, definition_hash = ?, depth = ?, waited = 0, pid = 0, pid_start = '', boot_id = '',
 worker = ?, told = 0, told_bytes = 0, received = '', waits = '', closing_at = NULL, ask = ?, tree_run = ?,
 session = CASE WHEN server = ?13 THEN session ELSE '' END, server = ?13`,
		tx.Now.Add(lease), tx.Now, tx.Now, claimID, asJSON(r.Spec), asJSON(r.Limits), r.Model,
		r.DefinitionHash, r.Depth, r.Worker, askJSON(r.Ask), nullZero(r.TreeRun), r.Server)
}

// RequeueRun puts a running run back into the queue.
func (tx *Tx) RequeueRun(r *task.Run) (bool, error) {
	return tx.changeRun(r, `UPDATE runs SET status = 'pending', phase = 'queued', lease_expires = NULL, started_at = NULL,
 heartbeat_at = NULL, claim_id = 0, pid = 0, pid_start = '', boot_id = ''`)
}

// SetProcess records the process of a running run.
func (tx *Tx) SetProcess(id task.ID, lease int64, pid int, start, boot string) (bool, error) {
	return tx.changedOne("UPDATE runs SET pid = ?, pid_start = ?, boot_id = ? WHERE id = ? "+
		"AND lease = ? AND status = 'running'", pid, start, boot, id, lease)
}

// SetSession records the conversation of a running run, and its folder.
func (tx *Tx) SetSession(id task.ID, lease int64, session, folder string) (bool, error) {
	return tx.changedOne("UPDATE runs SET session = ?, folder = ? WHERE id = ? "+
		"AND lease = ? AND status = 'running'", session, folder, id, lease)
}

// BeatRun renews the lease of a running run and reports whether it still holds.
func (tx *Tx) BeatRun(id task.ID, lease int64, d time.Duration) (bool, error) {
	return tx.changedOne("UPDATE runs SET lease_expires = ?, heartbeat_at = ? WHERE id = ? "+
		"AND lease = ? AND status = 'running'", tx.Now.Add(d), tx.Now, id, lease)
}

// EndRun writes the final state of an open run and opens its task's gate. What
// it used more than r.Usage is counted as used today.
func (tx *Tx) EndRun(r *task.Run, end task.State, reason, summary string, artifacts []string, usage task.Usage) (bool, error) {
	if artifacts == nil {
		artifacts = []string{}
	}
	ended, err := tx.changeRun(r, "UPDATE runs SET status = ?, phase = ?, reason = ?, summary = ?, "+
		"artifacts = ?, usage = ?, lease_expires = NULL, ended_at = ?, thread_at = (SELECT max(id) FROM messages WHERE run_id = runs.id)",
		end.Status, end.Phase, reason, summary, asJSON(artifacts), asJSON(usage), tx.Now)
	if !ended {
		return false, err
	}
	if err := tx.countRun(r, end.Status, usage); err != nil {
		return false, err
	}
	if r.StartedAt != 0 {
		if err := tx.countUse(r, 1, usage); err != nil {
			return false, err
		}
	}
	return true, tx.do("UPDATE tasks SET run_id = NULL WHERE id = ? AND run_id = ?", r.TaskID, r.ID)
}

// SetDecision writes the decision beside the final state of a pending run.
func (tx *Tx) SetDecision(id task.ID, decision, by, reason string) error {
	return tx.do("UPDATE runs SET decision = ?, decided_by = ?, decided_at = ?, decision_reason = ? "+
		"WHERE id = ? AND ended_at IS NULL", decision, by, tx.Now, reason, id)
}

// NoteFollowUp makes one more run follow when this one ends. The reasons for it
// are kept one per line, each once, at most 4 KiB in all.
func (tx *Tx) NoteFollowUp(id task.ID, reason string) error {
	return tx.do(`UPDATE runs SET follow_up = 1, news = CASE WHEN news = '' THEN ?1
 WHEN octet_length(news) + octet_length(?1) > 4095 OR instr(char(10) || news || char(10), char(10) || ?1 || char(10)) > 0 THEN news
 ELSE news || char(10) || ?1 END WHERE id = ?2 AND ended_at IS NULL`, reason, id)
}

// AddReportedEvents adds to the number of events that were reported through the API.
func (tx *Tx) AddReportedEvents(id task.ID, events, size int) error {
	return tx.do("UPDATE runs SET told = told + ?, told_bytes = told_bytes + ? WHERE id = ? AND ended_at IS NULL", events, size, id)
}

// SetFailures records how many runs of a task failed in a row.
func (tx *Tx) SetFailures(taskID task.ID, n int) error {
	return tx.do("UPDATE tasks SET failures = ? WHERE id = ? AND archived_at IS NULL", n, taskID)
}

// SaveDefinition stores the text of a definition under its hash, unless it is there already.
func (tx *Tx) SaveDefinition(hash, agent, text string) error {
	return tx.do("INSERT INTO definitions (hash, agent, text, first_seen) VALUES (?, ?, ?, ?) "+
		"ON CONFLICT DO NOTHING", hash, agent, text, tx.Now)
}

// Definition returns the text of the definition with a hash, "" if it is unknown.
func (rx *Rx) Definition(hash string) (string, error) {
	var text string
	_, err := optional(rx.row("SELECT text FROM definitions WHERE hash = ?", hash).Scan(&text))
	return text, err
}

// AddRunTask records that a run created a task (claim 0) or claimed it.
func (tx *Tx) AddRunTask(run, id task.ID, claim int64) error {
	return tx.do("INSERT INTO run_reach (run_id, task_id, claim_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", run, id, claim)
}

// RunCreatedOrClaimed reports whether a run created a task, or made the given claim on it.
func (rx *Rx) RunCreatedOrClaimed(run, id task.ID, claim int64) (bool, error) {
	n, err := rx.count("SELECT count(*) FROM run_reach WHERE run_id = ? AND task_id = ? AND claim_id IN (0, ?)", run, id, claim)
	return n > 0, err
}
