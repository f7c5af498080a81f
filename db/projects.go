package db

import (
	"encoding/json"
	"errors"

	"taskyard/task"
)

const projectCols = `key, name, description, repository, default_branch, branch_prefix, setup, checks, review,
 coalesce(merge, ''), archived, version, created_at, updated_at`

func scanProject(r rowScanner) (*task.Project, error) {
	p := &task.Project{}
	var setup, checks, review, merge string
	err := r.Scan(&p.Key, &p.Name, &p.Description, &p.Repository, &p.DefaultBranch, &p.BranchPrefix, &setup, &checks, &review,
		&merge, &p.Archived, &p.Version, &p.CreatedAt, &p.UpdatedAt)
	if err != nil {
		return nil, err
	}
	err = errors.Join(json.Unmarshal([]byte(setup), &p.Setup), json.Unmarshal([]byte(checks), &p.Checks),
		json.Unmarshal([]byte(review), &p.Review))
	if merge != "" {
		p.Merge = &task.Merge{}
		err = errors.Join(err, json.Unmarshal([]byte(merge), p.Merge))
	}
	return p, err
}

// Projects returns all projects by key.
func (rx *Rx) Projects() ([]*task.Project, error) {
	return collect(rx.query("SELECT "+projectCols+" FROM projects ORDER BY key"), scanProject)
}

// ProjectKeys returns the keys of the projects that are not archived, in order.
func (rx *Rx) ProjectKeys() ([]string, error) {
	return collect(rx.query("SELECT key FROM projects WHERE archived = 0 ORDER BY key"), column[string])
}

// Project returns one project. Error: unknown key.
func (rx *Rx) Project(key string) (*task.Project, error) {
	p, err := nilIfNoRow(scanProject(rx.row("SELECT "+projectCols+" FROM projects WHERE key = ?", key)))
	if err == nil && p == nil {
		err = task.ProjectNotFound(key)
	}
	return p, err
}

// ProjectUse is how many tasks a project has.
type ProjectUse struct{ Open, Review, Merge int }

// ProjectUses counts the open tasks of all projects, and those whose results
// wait.
func (rx *Rx) ProjectUses() (map[string]ProjectUse, error) {
	rows := rx.query(`SELECT project, count(*), count(*) FILTER (WHERE awaits = 'review'), count(*) FILTER (WHERE awaits = 'merge')
 FROM tasks INDEXED BY tasks_project WHERE project <> '' AND archived_at IS NULL GROUP BY project`)
	return collectMap(rows, func(r rowScanner) (key string, u ProjectUse, err error) {
		return key, u, r.Scan(&key, &u.Open, &u.Review, &u.Merge)
	})
}

// PutProject writes a project as it is in p, new or not, and moves its version.
func (tx *Tx) PutProject(p *task.Project) error {
	var merge any
	if p.Merge != nil {
		merge = asJSON(p.Merge)
	}
	return tx.do(`INSERT INTO projects (key, name, description, repository, default_branch, branch_prefix, setup, checks,
 review, merge, archived, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT (key) DO UPDATE SET name = excluded.name, description = excluded.description, repository = excluded.repository,
 default_branch = excluded.default_branch, branch_prefix = excluded.branch_prefix, setup = excluded.setup, checks = excluded.checks,
 review = excluded.review, merge = excluded.merge, archived = excluded.archived, version = projects.version + 1,
 updated_at = excluded.updated_at`,
		p.Key, p.Name, p.Description, p.Repository, p.DefaultBranch, p.BranchPrefix, asJSON(p.Setup), asJSON(p.Checks),
		asJSON(p.Review), merge, p.Archived, tx.Now, tx.Now)
}

// SetProject puts an open task into a project, "" for none.
func (tx *Tx) SetProject(id task.ID, project string) error {
	return tx.do("UPDATE tasks SET project = ?, version = version + 1, updated_at = ? WHERE id = ?", project, tx.Now, id)
}

// SetAwaits says what the result of a task waits for, "" for nothing.
func (tx *Tx) SetAwaits(id task.ID, awaits task.WaitingFor) error {
	return tx.do("UPDATE tasks SET awaits = ?, version = version + 1, updated_at = ? WHERE id = ?", awaits, tx.Now, id)
}

// SetDemands writes what an open task itself must show.
func (tx *Tx) SetDemands(id task.ID, d task.Demands) error {
	return tx.do("UPDATE tasks SET demands = ?, version = version + 1, updated_at = ? WHERE id = ?", demandsJSON(d), tx.Now, id)
}

// demandsJSON is how a row holds demands; "" are none.
func demandsJSON(d task.Demands) string {
	if d.Empty() {
		return ""
	}
	return asJSON(d)
}
