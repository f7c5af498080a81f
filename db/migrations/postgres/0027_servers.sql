-- +goose Up
-- The server that executes a run, or that has its folder.
ALTER TABLE runs ADD COLUMN server TEXT NOT NULL DEFAULT '';

-- The servers that share this database, by the ids of their data folders.
CREATE TABLE servers (
  id         TEXT PRIMARY KEY,
  version    TEXT NOT NULL,
  address    TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  seen_at    BIGINT NOT NULL
);

-- The one of them that does what is done once, until the moment that it named
-- last. The number grows with each change of the server.
CREATE TABLE leader (
  one    INTEGER PRIMARY KEY DEFAULT 1 CHECK (one = 1),
  server TEXT NOT NULL,
  number BIGINT NOT NULL,
  until  BIGINT NOT NULL
);
DELETE FROM settings WHERE key = 'server';
