-- +goose Up
-- Tasks with a question whose run waits for people as well are counted once:
-- the index alone says which they can be.
DROP INDEX tasks_question;
CREATE INDEX tasks_question ON tasks (question_id, owner, status, run_id) WHERE question_id IS NOT NULL;
