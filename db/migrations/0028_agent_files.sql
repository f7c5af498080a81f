-- +goose Up
-- What defines the agents of several servers that share a database: for each
-- agent the hash of its text in definitions, NULL once it was removed. The
-- version grows by one with each change of any of them. Servers on SQLite have
-- their folders alone, and no rows.
CREATE TABLE agent_files (
  agent      TEXT PRIMARY KEY CHECK (octet_length(agent) BETWEEN 1 AND 63),
  hash       TEXT REFERENCES definitions (hash),
  version    INTEGER NOT NULL UNIQUE CHECK (version > 0),
  changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
