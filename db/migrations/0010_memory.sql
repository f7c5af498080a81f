-- +goose Up
-- What made a run start, in a few words, and the news that came while it was
-- open, one per line: what its follow-up run starts from.
ALTER TABLE runs ADD COLUMN why TEXT NOT NULL DEFAULT '' CHECK (octet_length(why) <= 4096);
ALTER TABLE runs ADD COLUMN news TEXT NOT NULL DEFAULT '' CHECK (octet_length(news) <= 4096);

-- Tasks whose question was answered, or whose awaited subtask ended, come
-- first in their queue until they are claimed.
ALTER TABLE tasks ADD COLUMN resumes INTEGER NOT NULL DEFAULT 0 CHECK (resumes IN (0, 1));
DROP INDEX tasks_claimable;
CREATE INDEX tasks_claimable ON tasks (owner, resumes DESC, priority DESC, id)
  WHERE status = 'active' AND claim_holder IS NULL AND question_id IS NULL AND run_id IS NULL AND blocked = 0;

-- Where a run that has ended is in its task's thread: after its last line.
ALTER TABLE runs ADD COLUMN thread_at INTEGER;
DROP TRIGGER runs_final;
UPDATE runs SET thread_at = (SELECT max(id) FROM messages WHERE run_id = runs.id) WHERE ended_at IS NOT NULL;
-- +goose StatementBegin
CREATE TRIGGER runs_final BEFORE UPDATE ON runs WHEN old.ended_at IS NOT NULL
BEGIN SELECT raise(ABORT, 'a run that ended is final'); END;
-- +goose StatementEnd
CREATE INDEX runs_thread ON runs (task_id, thread_at) WHERE thread_at IS NOT NULL;
