-- +goose Up
-- The writer counts tasks, once for each batch, and lists new ones under their
-- labels. A statement with a trigger copies what it changes, so that it can be
-- undone: that cost more than the new task itself.
DROP TRIGGER tasks_counted_new;
DROP TRIGGER tasks_counted;
DROP TRIGGER tasks_open_labels_new;
