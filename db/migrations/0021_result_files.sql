-- +goose Up
-- The files that an open result changes: those of one project that change the
-- same files are shown to each other. Of each at most a thousand are named.
CREATE TABLE result_files (
  project   TEXT NOT NULL,
  path      TEXT NOT NULL CHECK (path <> ''),
  result_id INTEGER NOT NULL REFERENCES results (id),
  PRIMARY KEY (project, path, result_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX result_files_result ON result_files (result_id, path);

-- +goose StatementBegin
CREATE TRIGGER results_closed AFTER UPDATE OF state ON results WHEN new.state NOT IN ('review', 'accepted')
BEGIN DELETE FROM result_files WHERE result_id = new.id; END;
-- +goose StatementEnd
