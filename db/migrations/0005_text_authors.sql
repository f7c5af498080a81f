-- +goose Up
-- Who wrote the title and the description of a task last: an agent id,
-- user:NAME or import; '' is the creator. Prompts tell agents by it whose
-- words they read.
ALTER TABLE tasks ADD COLUMN title_by TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN description_by TEXT NOT NULL DEFAULT '';

-- What is known of open tasks stands in the log. History is never changed.
UPDATE tasks SET
  title_by = coalesce((SELECT e.actor FROM events e WHERE e.task_id = tasks.id AND e.kind = 'task.updated'
    AND e.changes <> '' AND json_type(e.changes, '$.title') IS NOT NULL ORDER BY e.id DESC LIMIT 1), ''),
  description_by = coalesce((SELECT e.actor FROM events e WHERE e.task_id = tasks.id AND e.kind = 'task.updated'
    AND e.changes <> '' AND json_type(e.changes, '$.description') IS NOT NULL ORDER BY e.id DESC LIMIT 1), '')
WHERE archived_at IS NULL
  AND EXISTS (SELECT 1 FROM events e WHERE e.task_id = tasks.id AND e.kind = 'task.updated');
UPDATE tasks SET title_by = '' WHERE archived_at IS NULL AND title_by = created_by;
UPDATE tasks SET description_by = '' WHERE archived_at IS NULL AND description_by = created_by;
