-- +goose Up
-- The delegated runs of whose end a running run was told, by any server: their
-- ids, each with a space after it.
ALTER TABLE runs ADD COLUMN received text COLLATE "C" NOT NULL DEFAULT '';
