-- +goose Up
-- Times are integer milliseconds since 1970, UTC. Lengths are bytes: length()
-- would stop at a NUL. What a CHECK here says, package task says first, in words.

CREATE TABLE tasks (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  title         TEXT NOT NULL CHECK (octet_length(title) BETWEEN 1 AND 800),
  owner         TEXT NOT NULL CHECK (octet_length(owner) BETWEEN 1 AND 63),
  created_by    TEXT NOT NULL,
  status        TEXT NOT NULL CHECK (status IN ('draft', 'active', 'done', 'canceled')),
  priority      INTEGER NOT NULL DEFAULT 0,
  version       INTEGER NOT NULL DEFAULT 1,
  channel       TEXT NOT NULL DEFAULT 'web',
  parent_id     INTEGER REFERENCES tasks (id),
  nesting       INTEGER NOT NULL DEFAULT 0 CHECK (nesting BETWEEN 0 AND 10),
  claim_seq     INTEGER NOT NULL DEFAULT 0, -- id of the present or last claim
  claim_holder  TEXT,
  claim_since   INTEGER,
  claim_expires INTEGER,
  question_id   INTEGER, -- the open question's message
  run_id        INTEGER, -- the run that waits or runs
  failures      INTEGER NOT NULL DEFAULT 0, -- failed runs in a row
  grant_hash    TEXT, -- what a reviewer approved for all runs of this task
  grant_by      TEXT,
  grant_limits  TEXT,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  archived_at   INTEGER,
  -- The long texts stand last, so that reading the rest need not walk over them.
  description   TEXT NOT NULL DEFAULT '' CHECK (octet_length(description) <= 65536),
  summary       TEXT CHECK (octet_length(summary) <= 65536),
  CHECK ((archived_at IS NULL) = (status IN ('draft', 'active'))),
  CHECK ((claim_holder IS NULL) = (claim_expires IS NULL)),
  CHECK (claim_holder IS NULL OR status = 'active'),
  CHECK (archived_at IS NULL OR (question_id IS NULL AND run_id IS NULL))
) STRICT;

-- Partial indexes on live states only, so that history costs them nothing.
CREATE INDEX tasks_claimable ON tasks (owner, priority DESC, id)
  WHERE status = 'active' AND claim_holder IS NULL AND question_id IS NULL AND run_id IS NULL;
CREATE INDEX tasks_open ON tasks (priority DESC, id) WHERE archived_at IS NULL;
CREATE INDEX tasks_owner ON tasks (owner, priority DESC, id) WHERE archived_at IS NULL;
CREATE INDEX tasks_lease ON tasks (claim_expires) WHERE claim_expires IS NOT NULL;
CREATE INDEX tasks_history ON tasks (archived_at DESC, id DESC) WHERE archived_at IS NOT NULL;
CREATE INDEX tasks_owner_history ON tasks (owner, archived_at DESC, id DESC) WHERE archived_at IS NOT NULL;
CREATE INDEX tasks_parent ON tasks (parent_id, id) WHERE parent_id IS NOT NULL;

CREATE TABLE steps (
  task_id    INTEGER NOT NULL REFERENCES tasks (id),
  position   INTEGER NOT NULL CHECK (position BETWEEN 0 AND 199),
  title      TEXT NOT NULL CHECK (octet_length(title) BETWEEN 1 AND 240),
  details    TEXT NOT NULL DEFAULT '' CHECK (octet_length(details) <= 65536),
  done       INTEGER NOT NULL DEFAULT 0 CHECK (done IN (0, 1)),
  subtask_id INTEGER REFERENCES tasks (id),
  PRIMARY KEY (task_id, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX steps_subtask ON steps (subtask_id) WHERE subtask_id IS NOT NULL;

CREATE TABLE resources (
  task_id  INTEGER NOT NULL REFERENCES tasks (id),
  position INTEGER NOT NULL CHECK (position BETWEEN 0 AND 99),
  type     TEXT NOT NULL CHECK (type IN ('url', 'file')),
  value    TEXT NOT NULL CHECK (octet_length(value) BETWEEN 1 AND 4096),
  label    TEXT NOT NULL DEFAULT '' CHECK (octet_length(label) <= 800),
  PRIMARY KEY (task_id, position)
) STRICT, WITHOUT ROWID;

-- A thread is its task: one thread a task, under the same id.
CREATE TABLE messages (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id    INTEGER NOT NULL REFERENCES tasks (id),
  run_id     INTEGER,
  kind       TEXT NOT NULL CHECK (kind IN ('comment', 'handoff', 'notice', 'question', 'answer', 'system', 'run')),
  role       TEXT NOT NULL DEFAULT '',
  type       TEXT NOT NULL DEFAULT '',
  author     TEXT NOT NULL,
  content    TEXT NOT NULL CHECK (octet_length(content) <= 1048576),
  data       TEXT,
  created_at INTEGER NOT NULL,
  CHECK ((kind = 'run') = (run_id IS NOT NULL))
) STRICT;
CREATE INDEX messages_thread ON messages (task_id, id) WHERE run_id IS NULL;
CREATE INDEX messages_run ON messages (run_id, id) WHERE run_id IS NOT NULL;

CREATE TABLE definitions (
  hash       TEXT PRIMARY KEY,
  agent      TEXT NOT NULL,
  text       TEXT NOT NULL,
  first_seen INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id          INTEGER NOT NULL REFERENCES tasks (id),
  agent            TEXT NOT NULL,
  status           TEXT NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'failed', 'canceled')),
  phase            TEXT NOT NULL,
  cause            TEXT NOT NULL,
  asked_by         TEXT NOT NULL,
  attempt          INTEGER NOT NULL DEFAULT 1,
  retry_of         INTEGER,
  depth            INTEGER NOT NULL DEFAULT 0,
  reason           TEXT NOT NULL DEFAULT '',
  summary          TEXT NOT NULL DEFAULT '',
  artifacts        TEXT NOT NULL DEFAULT '[]',
  usage            TEXT NOT NULL DEFAULT '{}',
  limits           TEXT NOT NULL DEFAULT '{}',
  model            TEXT NOT NULL DEFAULT '',
  definition_hash  TEXT NOT NULL DEFAULT '',
  spec             TEXT, -- what will run, frozen while an approval is needed
  spec_hash        TEXT NOT NULL DEFAULT '',
  approval_expires INTEGER,
  decision         TEXT NOT NULL DEFAULT '' CHECK (decision IN ('', 'approved', 'denied', 'expired')),
  decided_by       TEXT NOT NULL DEFAULT '',
  decided_at       INTEGER,
  scope            TEXT NOT NULL DEFAULT '',
  decision_reason  TEXT NOT NULL DEFAULT '',
  follow_up        INTEGER NOT NULL DEFAULT 0,
  claim_id         INTEGER NOT NULL DEFAULT 0,
  lease            INTEGER NOT NULL DEFAULT 0,
  lease_expires    INTEGER,
  pid              INTEGER NOT NULL DEFAULT 0,
  pid_start        TEXT NOT NULL DEFAULT '',
  boot_id          TEXT NOT NULL DEFAULT '',
  created_at       INTEGER NOT NULL,
  not_before       INTEGER NOT NULL DEFAULT 0,
  started_at       INTEGER,
  heartbeat_at     INTEGER,
  ended_at         INTEGER,
  CHECK ((ended_at IS NOT NULL) = (status IN ('completed', 'failed', 'canceled')))
) STRICT;
-- One open run a task, for ever.
CREATE UNIQUE INDEX runs_open ON runs (task_id) WHERE status IN ('pending', 'running');
CREATE INDEX runs_queued ON runs (agent, id) WHERE status = 'pending' AND phase = 'queued';
CREATE INDEX runs_running ON runs (agent, id) WHERE status = 'running';
CREATE INDEX runs_approval ON runs (approval_expires, id) WHERE status = 'pending' AND phase = 'approval';
CREATE INDEX runs_task ON runs (task_id, id DESC);
CREATE INDEX runs_agent ON runs (agent, id DESC);
CREATE INDEX runs_status ON runs (status, id DESC);
CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL;

-- The log: append-only, each line hashed together with the one before.
CREATE TABLE events (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  at      INTEGER NOT NULL,
  actor   TEXT NOT NULL,
  kind    TEXT NOT NULL,
  task_id INTEGER,
  run_id  INTEGER,
  agent   TEXT NOT NULL DEFAULT '',
  changes TEXT NOT NULL DEFAULT '',
  hash    BLOB NOT NULL
) STRICT;
CREATE INDEX events_task ON events (task_id, id) WHERE task_id IS NOT NULL;

CREATE TABLE ticks (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  at      INTEGER NOT NULL,
  cause   TEXT NOT NULL,
  queued  INTEGER NOT NULL DEFAULT 0,
  skipped INTEGER NOT NULL DEFAULT 0,
  ended   INTEGER
) STRICT;
-- The scheduler's receipts: why the last tick left a task alone.
CREATE TABLE skips (
  task_id INTEGER PRIMARY KEY REFERENCES tasks (id),
  tick_id INTEGER NOT NULL,
  reason  TEXT NOT NULL,
  detail  TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX skips_tick ON skips (tick_id, task_id);

CREATE TABLE jobs (
  name     TEXT PRIMARY KEY,
  last_at  INTEGER,
  took_ms  INTEGER NOT NULL DEFAULT 0,
  error    TEXT NOT NULL DEFAULT '',
  runs     INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE run_hours (
  hour      INTEGER NOT NULL, -- start of the hour
  agent     TEXT NOT NULL,
  status    TEXT NOT NULL,
  runs      INTEGER NOT NULL,
  millis    INTEGER NOT NULL,
  tokens    INTEGER NOT NULL,
  cost_usd  REAL NOT NULL,
  PRIMARY KEY (hour, agent, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  name         TEXT NOT NULL COLLATE NOCASE UNIQUE,
  role         TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'reviewer', 'admin')),
  password     TEXT NOT NULL, -- argon2id in its standard form
  created_at   INTEGER NOT NULL,
  last_seen_at INTEGER,
  disabled_at  INTEGER
) STRICT;

CREATE TABLE sessions (
  hash       TEXT PRIMARY KEY, -- of the cookie's token
  user_id    INTEGER,
  data       BLOB NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_user ON sessions (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE tokens (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  hash       BLOB NOT NULL UNIQUE, -- SHA-256 of the secret
  hint       TEXT NOT NULL,
  name       TEXT NOT NULL,
  scope      TEXT NOT NULL,
  agent      TEXT NOT NULL DEFAULT '',
  user_id    INTEGER REFERENCES users (id),
  run_id     INTEGER,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  used_at    INTEGER,
  revoked_at INTEGER
) STRICT;
CREATE INDEX tokens_run ON tokens (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE idempotency (
  caller     TEXT NOT NULL,
  key        TEXT NOT NULL,
  request    BLOB NOT NULL, -- SHA-256 of method, path and body
  answer     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (caller, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE settings (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Full text over open and archived tasks, written in the background.
CREATE VIRTUAL TABLE search USING fts4 (title, body, tokenize=unicode61);

-- History is immutable, in every field, step, resource and message.
-- +goose StatementBegin
CREATE TRIGGER tasks_immutable BEFORE UPDATE ON tasks WHEN old.archived_at IS NOT NULL
BEGIN SELECT raise(ABORT, 'history is immutable'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_origin BEFORE UPDATE OF id, created_by, created_at, parent_id, nesting, channel ON tasks
WHEN new.id <> old.id OR new.created_by <> old.created_by OR new.created_at <> old.created_at
  OR new.parent_id IS NOT old.parent_id OR new.nesting <> old.nesting OR new.channel <> old.channel
BEGIN SELECT raise(ABORT, 'the origin of a task is immutable'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tasks_kept BEFORE DELETE ON tasks
BEGIN SELECT raise(ABORT, 'tasks are kept for ever'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER steps_insert BEFORE INSERT ON steps
WHEN (SELECT archived_at FROM tasks WHERE id = new.task_id) IS NOT NULL
BEGIN SELECT raise(ABORT, 'history is immutable'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER steps_update BEFORE UPDATE ON steps
WHEN (SELECT archived_at FROM tasks WHERE id = old.task_id) IS NOT NULL
BEGIN SELECT raise(ABORT, 'history is immutable'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER steps_delete BEFORE DELETE ON steps
WHEN old.subtask_id IS NOT NULL OR (SELECT archived_at FROM tasks WHERE id = old.task_id) IS NOT NULL
BEGIN SELECT raise(ABORT, 'history is immutable and linked steps stay'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER resources_insert BEFORE INSERT ON resources
WHEN (SELECT archived_at FROM tasks WHERE id = new.task_id) IS NOT NULL
BEGIN SELECT raise(ABORT, 'history is immutable'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER resources_update BEFORE UPDATE ON resources
WHEN (SELECT archived_at FROM tasks WHERE id = old.task_id) IS NOT NULL
BEGIN SELECT raise(ABORT, 'history is immutable'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER resources_delete BEFORE DELETE ON resources
WHEN (SELECT archived_at FROM tasks WHERE id = old.task_id) IS NOT NULL
BEGIN SELECT raise(ABORT, 'history is immutable'); END;
-- +goose StatementEnd
-- The last words of a run that completed its own task may still come in.
-- +goose StatementBegin
CREATE TRIGGER messages_insert BEFORE INSERT ON messages
WHEN (SELECT archived_at FROM tasks WHERE id = new.task_id) IS NOT NULL
  AND (new.run_id IS NULL OR (SELECT status FROM runs WHERE id = new.run_id) NOT IN ('pending', 'running'))
BEGIN SELECT raise(ABORT, 'history is immutable'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER messages_update BEFORE UPDATE ON messages
BEGIN SELECT raise(ABORT, 'messages are immutable'); END;
-- +goose StatementEnd
-- Retention may drop transcripts of ended runs, and nothing else.
-- +goose StatementBegin
CREATE TRIGGER messages_delete BEFORE DELETE ON messages
WHEN old.run_id IS NULL OR (SELECT status FROM runs WHERE id = old.run_id) IN ('pending', 'running')
BEGIN SELECT raise(ABORT, 'messages are kept'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER runs_final BEFORE UPDATE ON runs WHEN old.ended_at IS NOT NULL
BEGIN SELECT raise(ABORT, 'a run that ended is final'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER runs_kept BEFORE DELETE ON runs
BEGIN SELECT raise(ABORT, 'runs are kept for ever'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_update BEFORE UPDATE ON events
BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_delete BEFORE DELETE ON events
BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
-- +goose StatementEnd

-- The words of the execution model, over the same rows.
CREATE VIEW task_executions AS
SELECT id, task_id AS conversation_id, agent AS agent_type,
       (SELECT title FROM tasks t WHERE t.id = runs.task_id) AS task_description,
       status, phase,
       strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') AS completed_at,
       coalesce(json_extract(usage, '$.tokensIn'), 0) + coalesce(json_extract(usage, '$.tokensOut'), 0) AS tokens_used,
       summary AS result_summary
FROM runs;
CREATE VIEW task_messages AS
SELECT id, run_id AS task_execution_id, role, content,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at
FROM messages WHERE run_id IS NOT NULL;
