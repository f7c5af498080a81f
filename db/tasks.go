package db

import (
	"encoding/json"
	"strings"

	"taskyard/task"
)

// The columns of a task. Four more expressions follow: description, steps
// and resources as JSON, comments as JSON, blockers; then counts for lists. One
// statement reads a task with its relations; scanTask is its one reader.
const (
	taskCols = `t.id, t.title, t.owner, t.created_by, t.status, t.priority, t.version, t.channel,
 coalesce(t.parent_id, 0), t.nesting, t.claim_seq, coalesce(t.claim_holder, ''), coalesce(t.claim_since, 0), coalesce(t.claim_expires, 0),
 coalesce(t.question_id, 0), coalesce(t.run_id, 0), t.failures, coalesce(t.summary, ''),
 t.created_at, t.updated_at, coalesce(t.archived_at, 0),
 coalesce((SELECT phase FROM runs r WHERE r.id = t.run_id), ''), t.blocked, t.blockers_canceled, t.labels, t.title_by, t.description_by,
 t.project, t.awaits, t.demands`
	stepsJSON = `(SELECT json_group_array(json_array(title, details, done, coalesce(subtask_id, 0)))
 FROM (SELECT title, details, done, subtask_id FROM steps WHERE task_id = t.id ORDER BY position))`
	resourcesJSON = `(SELECT json_group_array(json_array(type, value, label)) FROM (SELECT type, value, label
 FROM resources WHERE task_id = t.id ORDER BY position))`
	// The newest 500 comments that have at most 128 KiB together; their lengths
	// are known before any text is read. Nearly every task has all of them in
	// it: counting that first spares the window, which costs more than the rest
	// of the task.
	commentsJSON = `(CASE WHEN (SELECT count(*) <= 500 AND coalesce(sum(n), 0) <= 131072
 FROM (SELECT octet_length(content) AS n ` + ofComments + ` LIMIT 501))
 THEN (SELECT ` + commentArray + ` FROM (SELECT id, author, kind, content, created_at, type ` + ofComments + ` ORDER BY id))
 ELSE (SELECT ` + commentArray + ` FROM (SELECT id, author, kind, content, created_at, type FROM messages WHERE id IN (
 SELECT id FROM (SELECT id, sum(n) OVER (ORDER BY id DESC) AS bytes FROM (SELECT id, octet_length(content) AS n ` + ofComments + `
 ORDER BY id DESC LIMIT 500)) WHERE bytes <= 131072) ORDER BY id)) END)`
	commentArray = `json_group_array(json_array(id, author, kind, content, created_at, type = 'imported'))`
	commentCount = `(SELECT count(*) ` + ofComments + `)`
	ofComments   = `FROM messages WHERE task_id = t.id AND run_id IS NULL`
	blockersList = `coalesce((SELECT group_concat(blocker_id) FROM (SELECT blocker_id
 FROM blockers WHERE task_id = t.id ORDER BY blocker_id)), '')`
	// What happened before: the ended runs and the subtasks, newest first, one
	// more than are shown. Of an open subtask the last run, if it has ended badly.
	pastRunsJSON = `(SELECT json_group_array(json_array(id, agent, status, phase, decider, summary, reason, ended_at, last_words))
 FROM (SELECT id, agent, status, phase, CASE phase WHEN 'denied' THEN decided_by ELSE '' END AS decider,
 substr(summary, 1, 1001) AS summary, substr(reason, 1, 1001) AS reason, ended_at,
 ` + lastText + ` AS last_words FROM runs r WHERE task_id = t.id AND ended_at IS NOT NULL ORDER BY id DESC LIMIT 6))`
	// The last text of a failed run r, if it is among its last lines.
	lastText = `CASE r.status WHEN 'failed' THEN coalesce((SELECT substr(content, 1, 1001)
 FROM (SELECT content, type FROM messages WHERE run_id = r.id ORDER BY id DESC LIMIT 50) WHERE type = 'text' LIMIT 1), '') ELSE '' END`
	subtasksJSON = `(SELECT json_group_array(json_array(below.id, below.title, below.owner, below.status,
 substr(coalesce(below.summary, ''), 1, 1001), coalesce(r.id, 0), coalesce(r.agent, ''), coalesce(r.status, ''), coalesce(r.phase, ''),
 CASE r.phase WHEN 'denied' THEN r.decided_by ELSE '' END, substr(coalesce(r.reason, ''), 1, 1001), coalesce(r.ended_at, 0),
 ` + lastText + `,
 coalesce((SELECT merge FROM run_work WHERE run_id = (SELECT max(id) FROM runs WHERE task_id = below.id)), '')))
 FROM (SELECT id, title, owner, status, summary, archived_at FROM tasks c WHERE c.parent_id = t.id ORDER BY c.id DESC LIMIT 21) below
 LEFT JOIN runs r ON below.archived_at IS NULL AND r.id = (SELECT max(id) FROM runs WHERE task_id = below.id)
 AND (r.status = 'failed' OR r.phase IN ('denied', 'expired')))`
	holdingList = `CASE WHEN t.blocked > 0 THEN ` + blockersList + ` ELSE '' END` // cards show it while it matters
	noCounts    = `, 0, 0, 0, '', '', ''`
	counts      = `, (SELECT count(*) FROM steps WHERE task_id = t.id AND done = 1), (SELECT count(*) FROM steps WHERE task_id = t.id),
 (SELECT count(*) FROM messages WHERE task_id = t.id AND run_id IS NULL),
 CASE WHEN t.failures > 0 THEN coalesce((SELECT reason FROM runs WHERE task_id = t.id
 AND (status = 'failed' OR phase = 'denied') ORDER BY id DESC LIMIT 1), '') ELSE '' END, '', ''`

	taskFull = taskCols + ", t.description, " + stepsJSON + ", " + resourcesJSON + ", " +
		commentsJSON + ", " + blockersList + ", 0, 0, " + commentCount + ", '', " + pastRunsJSON + ", " + subtasksJSON
	taskWithTexts = taskCols + ", t.description, " + stepsJSON + ", " + resourcesJSON + ", '', " + blockersList + noCounts
	taskBrief     = taskCols + ", '', " + stepsJSON + ", " + resourcesJSON + ", '', " + blockersList + noCounts
	taskCard      = taskCols + ", '', '', '', '', " + holdingList + counts
	taskRow       = taskCols + ", '', '', '', '', ''" + noCounts
)

func scanTask(now task.Time) func(rowScanner) (*task.Task, error) {
	return func(r rowScanner) (*task.Task, error) {
		t := &task.Task{}
		var c task.Claim
		var labels, demands, steps, resources, comments, blockers, runs, subtasks string
		err := r.Scan(&t.ID, &t.Title, &t.Owner, &t.CreatedBy, &t.Status, &t.Priority, &t.Version, &t.Channel,
			&t.ParentTaskID, &t.Nesting, &c.ID, &c.Holder, &c.Since, &c.ExpiresAt,
			&t.QuestionID, &t.OpenRunID, &t.Failures, &t.Summary, &t.CreatedAt, &t.UpdatedAt, &t.ArchivedAt,
			&t.OpenRunPhase, &t.Blocked, &t.BlockersCanceled, &labels, &t.TitleBy, &t.TextBy, &t.Project, &t.Awaits, &demands,
			&t.Description, &steps, &resources, &comments, &blockers,
			&t.StepsDone, &t.StepsTotal, &t.CommentCount, &t.LastFailure, &runs, &subtasks)
		if err != nil {
			return nil, err
		}
		t.ThreadID = t.ID
		if c.Holder != "" {
			t.Claim = &c
		}
		if t.Labels = []string{}; labels != "" {
			t.Labels = strings.Split(labels, " ")
		}
		if t.BlockedBy, err = idList(blockers); err != nil {
			return nil, err
		}
		if demands != "" {
			if err := json.Unmarshal([]byte(demands), &t.Demands); err != nil {
				return nil, err
			}
		}
		t.Derive(now)
		if err := relations(t, steps, resources, comments); err != nil {
			return nil, err
		}
		return t, decodePast(t, runs, subtasks)
	}
}

// decodePast reads what happened before; "" means that it was not asked for.
func decodePast(t *task.Task, runs, subtasks string) error {
	if runs == "" || runs == "[]" && subtasks == "[]" {
		return nil
	}
	before, err := readJSONRows(runs, func(r *jsonRows) task.PastRun {
		p := pastRun(r)
		p.Summary, p.Reason, p.EndedAt, p.LastWords = r.text(), r.text(), task.Time(r.number()), r.text()
		return p
	})
	if err != nil {
		return err
	}
	below, err := readJSONRows(subtasks, func(r *jsonRows) task.Subtask {
		s := task.Subtask{ID: task.ID(r.number()), Title: r.text(), Owner: r.text(), Status: task.Status(r.text()), Summary: r.text()}
		p := pastRun(r)
		p.Reason, p.EndedAt, p.LastWords = r.text(), task.Time(r.number()), r.text()
		if p.ID != 0 {
			s.LastRun = &p
		}
		s.Merge = r.text()
		return s
	})
	if err != nil {
		return err
	}
	t.Remember(before, below)
	return nil
}

// pastRun reads the cells of a run before its texts.
func pastRun(r *jsonRows) task.PastRun {
	return task.PastRun{
		ID: task.ID(r.number()), Agent: r.text(), Status: task.RunStatus(r.text()), Phase: task.Phase(r.text()), By: r.text(),
	}
}

// relations reads the lists; "" means that the list was not asked for.
func relations(t *task.Task, steps, resources, comments string) error {
	var err error
	if steps != "" {
		t.Steps, err = readJSONRows(steps, func(r *jsonRows) task.Step {
			return task.Step{Title: r.text(), Details: r.text(), Done: r.number() == 1, TaskID: task.ID(r.number())}
		})
	}
	if resources != "" && err == nil {
		t.Resources, err = readJSONRows(resources, func(r *jsonRows) task.Resource {
			return task.Resource{Type: r.text(), Value: r.text(), Label: r.text()}
		})
	}
	if comments != "" && err == nil {
		t.Comments, err = readJSONRows(comments, func(r *jsonRows) task.Comment {
			return task.Comment{
				ID: task.ID(r.number()), Author: r.text(), Kind: task.MessageKind(r.text()),
				Content: r.text(), CreatedAt: task.Time(r.number()), Imported: r.number() == 1,
			}
		})
		t.Links = task.ToLinks(t.Resources)
		if t.CommentCount > len(t.Comments) {
			t.Cut = []string{"comments"}
		}
	}
	return err
}

// Task returns a task, open or archived, with relations: steps, resources and
// the last comments in order, at most 500 and 128 KiB. Error: task not found.
func (rx *Rx) Task(id task.ID) (*task.Task, error) {
	t, err := rx.one("SELECT "+taskFull+" FROM tasks t WHERE t.id = ?", id)
	if err != nil {
		return nil, err
	}
	return t, rx.addReview(t)
}

// TaskWithTexts is Task without comments.
func (rx *Rx) TaskWithTexts(id task.ID) (*task.Task, error) {
	return rx.one("SELECT "+taskWithTexts+" FROM tasks t WHERE t.id = ?", id)
}

// TaskRow is Task without description, steps, resources and comments.
func (rx *Rx) TaskRow(id task.ID) (*task.Task, error) {
	return rx.one("SELECT "+taskRow+" FROM tasks t WHERE t.id = ?", id)
}

// one scans one task; an unknown id is TaskNotFound.
func (rx *Rx) one(q string, id task.ID) (*task.Task, error) {
	t, err := nilIfNoRow(scanTask(rx.Now)(rx.row(q, id)))
	if err == nil && t == nil {
		err = task.TaskNotFound(id)
	}
	return t, err
}

func (rx *Rx) tasks(q string, args ...any) ([]*task.Task, error) {
	return collect(rx.query(q, args...), scanTask(rx.Now))
}

// tasksWithin is tasks of a list that a cursor continues.
func (rx *Rx) tasksWithin(q string, args ...any) ([]*task.Task, bool, error) {
	return within(rx, rx.query(q, args...), scanTask(rx.Now))
}

// InsertTask writes a new task with its steps and resources and returns its
// id. t.Nesting and t.ParentTaskID are taken as they are.
func (tx *Tx) InsertTask(t *task.Task) (task.ID, error) {
	id, err := tx.insertTaskRow(t.Title, t.Description, t.Owner, t.CreatedBy, t.Status, t.Priority, t.Channel,
		nullZero(t.ParentTaskID), t.Nesting, strings.Join(t.Labels, " "), t.Project, demandsJSON(t.Demands), tx.Now, tx.Now)
	if err != nil {
		return 0, err
	}
	tx.countTask(t.Owner, t.Status, 1)
	tx.countAt(tx.Now, t.Owner, "created", t.Project)
	return id, tx.insertLists(id, t)
}

// insertTask has the id as its last argument, which SQLite gives itself.
var insertTask = storeSQL{
	`INSERT INTO tasks (title, description, owner, created_by, status,
 priority, channel, parent_id, nesting, labels, project, demands, created_at, updated_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	`INSERT INTO tasks (title, description, owner, created_by, status,
 priority, channel, parent_id, nesting, labels, project, demands, created_at, updated_at, id)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
}

func (tx *Tx) insertTaskRow(args ...any) (task.ID, error) {
	if !tx.c.postgres() {
		return tx.insert(insertTask.sqlite, args...)
	}
	tx.counters.ids.task++
	return tx.counters.ids.task, tx.do(insertTask.postgres, append(args, tx.counters.ids.task)...)
}

// insertLists writes the steps and resources of a new task, and lists it under its
// labels. Changes of labels do so by a trigger; one on new tasks would cost those
// without labels, too.
func (tx *Tx) insertLists(id task.ID, t *task.Task) error {
	for i, s := range t.Steps {
		if err := tx.InsertStep(id, i, s); err != nil {
			return err
		}
	}
	for i, r := range t.Resources {
		if err := tx.AddResource(id, i, r); err != nil {
			return err
		}
	}
	for _, label := range t.Labels {
		err := tx.do("INSERT INTO open_labels (label, priority, created_at, task_id) "+
			"SELECT ?, priority, created_at, id FROM tasks WHERE id = ? ON CONFLICT DO NOTHING", label, id)
		if err != nil {
			return err
		}
	}
	return nil
}

// UpdateTask writes title, description, who wrote them, priority, owner,
// status and labels of an open task as they are in t.
func (tx *Tx) UpdateTask(t *task.Task) error {
	if _, _, err := tx.recount(t.ID, t.Owner, t.Status); err != nil {
		return err
	}
	return tx.do("UPDATE tasks SET title = ?, description = ?, title_by = ?, description_by = ?, priority = ?, "+
		"owner = ?, status = ?, labels = ?, version = version + 1, updated_at = ? WHERE id = ?",
		t.Title, t.Description, t.TitleBy, t.TextBy, t.Priority, t.Owner, t.Status, strings.Join(t.Labels, " "), tx.Now, t.ID)
}

// Touch moves version and updatedAt after a change beside the row itself.
func (tx *Tx) Touch(id task.ID) error {
	return tx.do("UPDATE tasks SET version = version + 1, updated_at = ? WHERE id = ?", tx.Now, id)
}

// Archive makes an open task history and drops claim, question and gates.
func (tx *Tx) Archive(id task.ID, status task.Status, summary string) error {
	var s any
	if summary != "" {
		s = summary
	}
	owner, project, err := tx.recount(id, "", status)
	if err != nil {
		return err
	}
	tx.countAt(tx.Now, owner, string(status), project)
	return tx.do(`UPDATE tasks SET status = ?, summary = ?, archived_at = ?, claim_holder = NULL, claim_since = NULL, claim_expires = NULL,
 question_id = NULL, run_id = NULL, grant_hash = NULL, blocked = 0, blockers_canceled = 0, awaits = '',
 version = version + 1, updated_at = ? WHERE id = ?`, status, s, tx.Now, tx.Now, id)
}

// SetQuestion opens (message id) or closes (0) the task's question.
func (tx *Tx) SetQuestion(id, message task.ID) error {
	return tx.do("UPDATE tasks SET question_id = ?, version = version + 1, updated_at = ? WHERE id = ?", nullZero(message), tx.Now, id)
}

// OpenDescendants returns the subtasks of a task at any depth that are not archived
// yet, the nearest first; those below an archived one too.
func (rx *Rx) OpenDescendants(id task.ID) ([]*task.Task, error) {
	return rx.tasks(`WITH RECURSIVE down (id, n) AS (
 SELECT id, 1 FROM tasks WHERE parent_id = ?
 UNION ALL SELECT c.id, down.n + 1 FROM down CROSS JOIN tasks c ON c.parent_id = down.id WHERE down.n < 20)
 SELECT `+taskRow+` FROM down CROSS JOIN tasks t ON t.id = down.id WHERE t.archived_at IS NULL ORDER BY down.n, t.id`, id)
}

// Ancestors returns the chain from the task's parent up to the root.
func (rx *Rx) Ancestors(id task.ID) ([]*task.Task, error) {
	return rx.tasks(`WITH RECURSIVE up (id, parent_id, n) AS (
 SELECT id, parent_id, 0 FROM tasks WHERE id = ?
 UNION ALL SELECT p.id, p.parent_id, up.n + 1 FROM up CROSS JOIN tasks p ON p.id = up.parent_id WHERE up.n < 20)
 SELECT `+taskRow+` FROM up CROSS JOIN tasks t ON t.id = up.id WHERE up.n > 0 ORDER BY up.n`, id)
}

// likePattern is the pattern of LIKE for what holds a text.
func likePattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}
