-- +goose Up
-- Counts that an index answers alone, without a look at the tasks: whether the
-- runs of tasks with a question wait for people as well, and how those that
-- somebody created ended.
DROP INDEX tasks_question;
CREATE INDEX tasks_question ON tasks (question_id, owner, status, run_id) WHERE question_id IS NOT NULL;
DROP INDEX tasks_archived_by;
CREATE INDEX tasks_archived_by ON tasks (created_by, archived_at DESC, id DESC, status) WHERE archived_at IS NOT NULL;
