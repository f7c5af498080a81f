-- +goose Up
-- When open tasks were created and last changed, for lists in these orders and
-- by id. They are written in the background with open_texts and have the same
-- tasks: an index of changes on tasks itself would be written by every claim.
CREATE TABLE open_times (
  task_id    INTEGER PRIMARY KEY,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
INSERT INTO open_times (task_id, created_at, updated_at)
SELECT t.id, t.created_at, t.updated_at FROM open_search_docsize o CROSS JOIN tasks t ON t.id = o.docid; -- in order, unlike open_texts
CREATE INDEX open_times_created ON open_times (created_at, task_id);
CREATE INDEX open_times_updated ON open_times (updated_at, task_id);
