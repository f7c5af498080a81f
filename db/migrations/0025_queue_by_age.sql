-- +goose Up
-- A queue is in the order of priority, then age, then id. Ids were taken for
-- ages, but an import brings tasks that are older than those already here. An
-- index ends with the id of its rows, so it need not be named last.
DROP INDEX tasks_claimable;
CREATE INDEX tasks_claimable ON tasks (owner, resumes DESC, priority DESC, created_at)
  WHERE status = 'active' AND claim_holder IS NULL AND question_id IS NULL AND run_id IS NULL AND blocked = 0 AND awaits = '';
DROP INDEX tasks_open;
CREATE INDEX tasks_open ON tasks (priority DESC, created_at) WHERE archived_at IS NULL;
DROP INDEX tasks_owner;
CREATE INDEX tasks_owner ON tasks (owner, priority DESC, created_at) WHERE archived_at IS NULL;
DROP INDEX tasks_draft;
CREATE INDEX tasks_draft ON tasks (priority DESC, created_at, id, owner) WHERE status = 'draft' AND archived_at IS NULL;
DROP INDEX tasks_blocked;
CREATE INDEX tasks_blocked ON tasks (priority DESC, created_at, id, owner) WHERE blocked > 0 AND archived_at IS NULL;
DROP INDEX tasks_failed;
CREATE INDEX tasks_failed ON tasks (priority DESC, created_at, id, owner) WHERE failures > 0 AND archived_at IS NULL;
DROP INDEX tasks_held_up;
CREATE INDEX tasks_held_up ON tasks (priority DESC, created_at, id, owner)
  WHERE archived_at IS NULL AND status = 'active'
  AND (question_id IS NOT NULL OR blockers_canceled > 0 OR run_id IS NOT NULL OR awaits <> '');
DROP INDEX tasks_project;
CREATE INDEX tasks_project ON tasks (project, priority DESC, created_at) WHERE project <> '' AND archived_at IS NULL;

DROP TRIGGER tasks_open_labels;
DROP TABLE open_labels;
CREATE TABLE open_labels (
  label      TEXT NOT NULL,
  priority   INTEGER NOT NULL,
  created_at INTEGER NOT NULL, -- of the task
  task_id    INTEGER NOT NULL REFERENCES tasks (id),
  PRIMARY KEY (label, priority DESC, created_at, task_id)
) STRICT, WITHOUT ROWID;

INSERT INTO open_labels (label, priority, created_at, task_id)
SELECT DISTINCT l.value, t.priority, t.created_at, t.id FROM tasks t, json_each('["' || replace(t.labels, ' ', '","') || '"]') l
WHERE t.archived_at IS NULL AND t.labels <> '';

-- +goose StatementBegin
CREATE TRIGGER tasks_open_labels AFTER UPDATE OF labels, priority, archived_at ON tasks
WHEN old.labels || new.labels <> ''
 AND (old.labels <> new.labels OR old.priority <> new.priority OR (old.archived_at IS NULL) <> (new.archived_at IS NULL))
BEGIN
  DELETE FROM open_labels WHERE task_id = old.id AND priority = old.priority AND created_at = old.created_at
   AND label IN (SELECT value FROM json_each('["' || replace(old.labels, ' ', '","') || '"]'));
  INSERT OR IGNORE INTO open_labels (label, priority, created_at, task_id)
  SELECT value, new.priority, new.created_at, new.id FROM json_each('["' || replace(new.labels, ' ', '","') || '"]')
  WHERE value <> '' AND new.archived_at IS NULL;
END;
-- +goose StatementEnd
