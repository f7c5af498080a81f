-- +goose Up
-- Since when calls of a running run wait for what it delegated, on servers other
-- than the one that executes it: by server and its start, in JSON, '' for none.
ALTER TABLE runs ADD COLUMN waits TEXT NOT NULL DEFAULT '';
