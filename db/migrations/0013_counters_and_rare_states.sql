-- +goose Up
-- How many tasks an owner has of each status, so that nothing that shows a
-- number walks all tasks.
CREATE TABLE task_counts (
  owner  TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('draft', 'active', 'done', 'canceled')),
  n      INTEGER NOT NULL CHECK (n >= 0),
  PRIMARY KEY (owner, status)
) STRICT, WITHOUT ROWID;
INSERT INTO task_counts (owner, status, n) SELECT owner, status, count(*) FROM tasks GROUP BY owner, status;

-- +goose StatementBegin
CREATE TRIGGER tasks_counted_new AFTER INSERT ON tasks
BEGIN
  INSERT INTO task_counts (owner, status, n) VALUES (new.owner, new.status, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_counted AFTER UPDATE OF owner, status ON tasks WHEN old.owner <> new.owner OR old.status <> new.status
BEGIN
  UPDATE task_counts SET n = n - 1 WHERE owner = old.owner AND status = old.status;
  INSERT INTO task_counts (owner, status, n) VALUES (new.owner, new.status, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd

-- The counters took over what the last columns of this index were for. The
-- oldest task of a queue has an index instead; the condition on the time keeps
-- statements about other things from choosing it.
DROP INDEX tasks_owner;
CREATE INDEX tasks_owner ON tasks (owner, priority DESC, id) WHERE archived_at IS NULL;
CREATE INDEX tasks_oldest ON tasks (owner, created_at) WHERE status = 'active' AND created_at > 0;

-- Open tasks in the states that few are in, in queue order.
CREATE INDEX tasks_draft ON tasks (priority DESC, id, owner) WHERE status = 'draft' AND archived_at IS NULL;
CREATE INDEX tasks_blocked ON tasks (priority DESC, id, owner) WHERE blocked > 0 AND archived_at IS NULL;
CREATE INDEX tasks_failed ON tasks (priority DESC, id, owner) WHERE failures > 0 AND archived_at IS NULL;
CREATE INDEX tasks_held_up ON tasks (priority DESC, id, owner)
  WHERE archived_at IS NULL AND status = 'active' AND (question_id IS NOT NULL OR blockers_canceled > 0 OR run_id IS NOT NULL);
