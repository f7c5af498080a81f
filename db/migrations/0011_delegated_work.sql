-- +goose Up
-- What became of the files of a run that worked on a branch from the worktree
-- of the run that delegated it: merged into that, or why not.
ALTER TABLE run_work ADD COLUMN merge TEXT NOT NULL DEFAULT '' CHECK (octet_length(merge) <= 2000);

-- The record of a delegated run names the conversation that delegated it, what
-- it was asked, and its model.
DROP VIEW task_executions;
CREATE VIEW task_executions AS
SELECT r.id, coalesce((SELECT p.task_id FROM runs p WHERE p.id = r.parent_run), t.parent_id, r.task_id) AS conversation_id,
       r.agent AS agent_type, CASE t.description WHEN '' THEN t.title ELSE t.description END AS task_description,
       r.model, r.status, r.phase,
       strftime('%Y-%m-%dT%H:%M:%fZ', r.started_at / 1000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', r.ended_at / 1000.0, 'unixepoch') AS completed_at,
       coalesce(json_extract(r.usage, '$.tokensIn'), 0) + coalesce(json_extract(r.usage, '$.tokensOut'), 0) AS tokens_used,
       r.summary AS result_summary
FROM runs r JOIN tasks t ON t.id = r.task_id;

-- The runs that were stopped with everything, separated by commas, whose tasks
-- can be started again when the pause ends.
ALTER TABLE pauses ADD COLUMN stopped TEXT NOT NULL DEFAULT '' CHECK (octet_length(stopped) <= 262144);
