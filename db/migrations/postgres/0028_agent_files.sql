-- +goose Up
-- What defines the agents of the servers that share this database: for each
-- agent the hash of its text in definitions, NULL once it was removed. The
-- version grows by one with each change of any of them.
CREATE TABLE agent_files (
  agent      text COLLATE "C" PRIMARY KEY CHECK (octet_length(agent) BETWEEN 1 AND 63),
  hash       text COLLATE "C" REFERENCES definitions (hash),
  version    bigint NOT NULL UNIQUE CHECK (version > 0),
  changed_at bigint NOT NULL
);
