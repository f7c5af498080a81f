-- +goose Up
-- Notices of stopped runs end with the next run of their task.
CREATE INDEX notices_task ON notices (task_id);
