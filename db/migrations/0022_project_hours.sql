-- +goose Up
-- The hourly sums name the project of the tasks and runs that they count;
-- '' is none. What was counted before is of none.
CREATE TABLE project_hours (
  hour       INTEGER NOT NULL,
  agent      TEXT NOT NULL,
  model      TEXT NOT NULL,
  what       TEXT NOT NULL CHECK (what IN ('created', 'done', 'canceled', 'asked', 'run.completed', 'run.failed', 'run.canceled')),
  project    TEXT NOT NULL DEFAULT '',
  n          INTEGER NOT NULL,
  millis     INTEGER NOT NULL DEFAULT 0,
  tokens_in  INTEGER NOT NULL DEFAULT 0,
  tokens_out INTEGER NOT NULL DEFAULT 0,
  cost_usd   REAL NOT NULL DEFAULT 0,
  estimated  INTEGER NOT NULL DEFAULT 0, -- 1: tokens or cost are, in part
  PRIMARY KEY (hour, agent, model, what, project)
) STRICT, WITHOUT ROWID;
INSERT INTO project_hours (hour, agent, model, what, n, millis, tokens_in, tokens_out, cost_usd, estimated)
SELECT hour, agent, model, what, n, millis, tokens_in, tokens_out, cost_usd, estimated FROM stats_hours ORDER BY hour, agent, model, what;
DROP TABLE stats_hours;
ALTER TABLE project_hours RENAME TO stats_hours;
