-- +goose Up
-- The labels of open tasks in queue order, so that a list of one label reads
-- no other tasks. history_labels are those of archived ones.
CREATE TABLE open_labels (
  label    TEXT NOT NULL,
  priority INTEGER NOT NULL,
  task_id  INTEGER NOT NULL REFERENCES tasks (id),
  PRIMARY KEY (label, priority DESC, task_id)
) STRICT, WITHOUT ROWID;

INSERT INTO open_labels (label, priority, task_id)
SELECT DISTINCT l.value, t.priority, t.id FROM tasks t, json_each('["' || replace(t.labels, ' ', '","') || '"]') l
WHERE t.archived_at IS NULL AND t.labels <> '';

-- +goose StatementBegin
CREATE TRIGGER tasks_open_labels_new AFTER INSERT ON tasks WHEN new.labels <> '' AND new.archived_at IS NULL
BEGIN
  INSERT OR IGNORE INTO open_labels (label, priority, task_id)
  SELECT value, new.priority, new.id FROM json_each('["' || replace(new.labels, ' ', '","') || '"]');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_open_labels AFTER UPDATE OF labels, priority, archived_at ON tasks
WHEN old.labels || new.labels <> ''
 AND (old.labels <> new.labels OR old.priority <> new.priority OR (old.archived_at IS NULL) <> (new.archived_at IS NULL))
BEGIN
  DELETE FROM open_labels WHERE task_id = old.id AND priority = old.priority
   AND label IN (SELECT value FROM json_each('["' || replace(old.labels, ' ', '","') || '"]'));
  INSERT OR IGNORE INTO open_labels (label, priority, task_id)
  SELECT value, new.priority, new.id FROM json_each('["' || replace(new.labels, ' ', '","') || '"]')
  WHERE value <> '' AND new.archived_at IS NULL;
END;
-- +goose StatementEnd

-- The history of what somebody created.
CREATE INDEX tasks_archived_by ON tasks (created_by, archived_at DESC, id DESC) WHERE archived_at IS NOT NULL;
