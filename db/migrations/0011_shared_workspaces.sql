-- +goose Up
-- What became of the files of a run that worked on a branch from the worktree
-- of the run that delegated it: merged into that, or why not.
ALTER TABLE run_work ADD COLUMN merge TEXT NOT NULL DEFAULT '' CHECK (octet_length(merge) <= 2000);
