package db

import (
	"database/sql"
	"errors"
	"strings"
	"time"

	"taskyard/task"
)

// claimNext takes the first claimable task of an agent's queue, those that
// resume first: the partial index tasks_claimable holds just these, in order.
// RETURNING knows no alias.
var claimNext = `UPDATE tasks SET claim_seq = claim_seq + 1, claim_holder = ?1, claim_since = ?2,
 claim_expires = ?3, resumes = 0, version = version + 1, updated_at = ?2
 WHERE id = (SELECT id FROM tasks WHERE owner = ?1 AND status = 'active' AND claim_holder IS NULL
 AND question_id IS NULL AND run_id IS NULL AND blocked = 0 AND awaits = ''
 ORDER BY resumes DESC, priority DESC, created_at, id LIMIT 1) RETURNING ` + strings.ReplaceAll(taskFull, "t.", "tasks.")

// claimConsented passes over what agents brought about and no person consented
// to, but for what the agent did itself, and over what failed or was denied.
var claimConsented = strings.Replace(claimNext, "AND awaits = ''\n", "AND awaits = '' AND failures = 0 "+
	"AND NOT EXISTS (SELECT 1 FROM hands h WHERE h.task_id = tasks.id AND h.actor NOT LIKE 'user:%' AND (h.actor <> ?1 OR h.whole = 0))\n", 1)

// inProjects passes over tasks of other projects than those of a JSON list.
func inProjects(claim string) string {
	return strings.Replace(claim, "AND awaits = ''", "AND awaits = '' AND (project = '' OR project IN (SELECT value FROM json_each(?4)))", 1)
}

var claimNextIn, claimConsentedIn = inProjects(claimNext), inProjects(claimConsented)

// ClaimNext claims the first free task of the agent's queue for lease and
// returns it with relations, or nil when nothing is free. projects, if not
// empty, are the only ones whose tasks it takes.
func (tx *Tx) ClaimNext(agent string, projects []string, lease time.Duration) (*task.Task, error) {
	return tx.claimBy(claimNext, claimNextIn, agent, projects, lease)
}

// ClaimConsented is ClaimNext without what waits for the consent of a person,
// and without tasks whose last run failed or was denied.
func (tx *Tx) ClaimConsented(agent string, projects []string, lease time.Duration) (*task.Task, error) {
	return tx.claimBy(claimConsented, claimConsentedIn, agent, projects, lease)
}

func (tx *Tx) claimBy(all, in, agent string, projects []string, lease time.Duration) (*task.Task, error) {
	wrote := tx.wrote
	tx.wrote = true
	q, args := all, []any{agent, tx.Now, tx.Now.Add(lease)}
	if len(projects) > 0 {
		q, args = in, append(args, asJSON(projects))
	}
	t, err := scanTask(tx.Now)(tx.row(q, args...))
	if errors.Is(err, sql.ErrNoRows) {
		tx.wrote = wrote
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t, tx.addReview(t)
}

// Claim claims one task for its owner.
func (tx *Tx) Claim(id task.ID, holder string, lease time.Duration) error {
	return tx.do(`UPDATE tasks SET claim_seq = claim_seq + 1, claim_holder = ?, claim_since = ?,
 claim_expires = ?, resumes = 0, version = version + 1, updated_at = ? WHERE id = ?`,
		holder, tx.Now, tx.Now.Add(lease), tx.Now, id)
}

// Release ends the task's claim.
func (tx *Tx) Release(id task.ID) error {
	return tx.do(`UPDATE tasks SET claim_holder = NULL, claim_since = NULL, claim_expires = NULL,
 version = version + 1, updated_at = ? WHERE id = ?`, tx.Now, id)
}

// SetResumes puts an unclaimed task first in its queue until it is claimed.
func (tx *Tx) SetResumes(id task.ID) error {
	return tx.do("UPDATE tasks SET resumes = 1 WHERE id = ? AND status = 'active' AND claim_holder IS NULL", id)
}

// Renew lets the task's claim run for lease from now. It is no change of the
// task: version stays.
func (tx *Tx) Renew(id task.ID, lease time.Duration) error {
	return tx.do("UPDATE tasks SET claim_expires = ? WHERE id = ? AND claim_holder IS NOT NULL", tx.Now.Add(lease), id)
}

// Transfer gives the task to another owner and ends its claim. Priority, age
// and failures stay.
func (tx *Tx) Transfer(id task.ID, owner string) error {
	if _, _, err := tx.recount(id, owner, ""); err != nil {
		return err
	}
	return tx.do(`UPDATE tasks SET owner = ?, claim_holder = NULL, claim_since = NULL, claim_expires = NULL,
 version = version + 1, updated_at = ? WHERE id = ?`, owner, tx.Now, id)
}

// Expired returns up to limit tasks whose claim has expired, by owner.
func (rx *Rx) Expired(limit int) ([]task.Task, error) {
	if err := rx.flushCounts(); err != nil {
		return nil, err
	}
	rows := rx.query("SELECT t.id, t.owner, t.claim_holder, t.claim_seq FROM task_counts c CROSS JOIN tasks t INDEXED BY tasks_lease "+
		"ON t.owner = c.owner AND t.claim_expires <= ? WHERE c.status = 'active' AND c.n > 0 LIMIT ?", rx.Now, limit)
	return collect(rows, func(r rowScanner) (t task.Task, err error) {
		t.Claim = &task.Claim{}
		return t, r.Scan(&t.ID, &t.Owner, &t.Claim.Holder, &t.Claim.ID)
	})
}

// ClaimedIDs returns up to limit tasks that an agent holds live claims on, by
// ID.
func (rx *Rx) ClaimedIDs(agent string, limit int) ([]task.ID, error) {
	rows := rx.query("SELECT id FROM tasks INDEXED BY tasks_lease WHERE owner = ? "+
		"AND claim_expires > ? ORDER BY id LIMIT ?", agent, rx.Now, limit)
	return collect(rows, column[task.ID])
}

// ClaimedInRun returns the tasks that are claimed as a run claimed them, by id.
func (rx *Rx) ClaimedInRun(run task.ID) ([]task.ID, error) {
	rows := rx.query("SELECT t.id FROM run_reach r JOIN tasks t ON t.id = r.task_id AND t.claim_seq = r.claim_id "+
		"WHERE r.run_id = ? AND t.claim_holder IS NOT NULL ORDER BY t.id", run)
	return collect(rows, column[task.ID])
}

// Claims returns how many live claims an agent holds.
func (rx *Rx) Claims(agent string) (int, error) {
	return rx.count("SELECT count(*) FROM tasks INDEXED BY tasks_lease WHERE owner = ? AND claim_expires > ?", agent, rx.Now)
}
