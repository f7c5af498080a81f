-- +goose Up
-- The server that executes a run, or that has its folder; '' while this server
-- is the only one.
ALTER TABLE runs ADD COLUMN server TEXT NOT NULL DEFAULT '';
