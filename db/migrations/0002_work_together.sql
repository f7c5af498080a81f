-- +goose Up
-- Todo lists, dependencies, labels, delegation, pauses, notices.

-- A todo list is a deque: positions grow to the back and shrink to the front.
-- Items leave at the ends alone, so positions have no gaps and
-- max - min + 1 is the count.
CREATE TABLE todos (
  agent    TEXT NOT NULL CHECK (octet_length(agent) BETWEEN 1 AND 63),
  position INTEGER NOT NULL,
  item     TEXT NOT NULL CHECK (octet_length(item) BETWEEN 1 AND 16384),
  PRIMARY KEY (agent, position)
) STRICT, WITHOUT ROWID;

-- task_id may start when blocker_id is done.
CREATE TABLE blockers (
  task_id    INTEGER NOT NULL REFERENCES tasks (id),
  blocker_id INTEGER NOT NULL REFERENCES tasks (id),
  PRIMARY KEY (task_id, blocker_id),
  CHECK (task_id <> blocker_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX blockers_of ON blockers (blocker_id, task_id);

-- How many blockers are not done, and how many of these never will be.
ALTER TABLE tasks ADD COLUMN blocked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN blockers_canceled INTEGER NOT NULL DEFAULT 0;
-- Sorted words with one space between them; [a-z0-9-] each, so no quoting.
ALTER TABLE tasks ADD COLUMN labels TEXT NOT NULL DEFAULT '';

DROP INDEX tasks_claimable;
CREATE INDEX tasks_claimable ON tasks (owner, priority DESC, id)
  WHERE status = 'active' AND claim_holder IS NULL AND question_id IS NULL AND run_id IS NULL AND blocked = 0;
-- What waits for a person.
CREATE INDEX tasks_question ON tasks (question_id, owner, status) WHERE question_id IS NOT NULL;
CREATE INDEX tasks_blocker_canceled ON tasks (id, owner, status) WHERE blockers_canceled > 0 AND archived_at IS NULL;
CREATE INDEX tasks_stuck ON tasks (id, owner, status, run_id, failures, claim_holder) WHERE failures > 0 AND archived_at IS NULL;

-- Notices that nobody has acknowledged yet.
CREATE TABLE notices (
  message_id INTEGER PRIMARY KEY REFERENCES messages (id),
  task_id    INTEGER NOT NULL REFERENCES tasks (id)
) STRICT;

-- Which run asked for a delegated run, and what bounds it and every later run
-- of its task: {model, complexity, tools, limits}.
ALTER TABLE runs ADD COLUMN parent_run INTEGER REFERENCES runs (id);
ALTER TABLE runs ADD COLUMN ask TEXT;
CREATE INDEX runs_parent ON runs (parent_run, id) WHERE parent_run IS NOT NULL;
CREATE INDEX runs_delegated ON runs (asked_by, created_at) WHERE cause = 'delegate';
-- What used the wake budgets of the last hour, and who wrote a definition last.
CREATE INDEX runs_woken ON runs (created_at) WHERE cause IN ('wake', 'follow_up');
CREATE INDEX events_definition ON events (agent, id) WHERE kind IN ('agent.saved', 'agent.deleted');

-- The token of the worker that carries a run out (0: this server does), and
-- what was told over the API at this start: events, and their bytes.
ALTER TABLE runs ADD COLUMN worker INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN told_bytes INTEGER NOT NULL DEFAULT 0;

-- The conversation of the agent's program, and the folder that holds it: a
-- start after one that was cut goes on from there.
ALTER TABLE runs ADD COLUMN session TEXT NOT NULL DEFAULT '' CHECK (octet_length(session) <= 100);
ALTER TABLE runs ADD COLUMN folder TEXT NOT NULL DEFAULT '' CHECK (octet_length(folder) <= 100);

-- The whole yard ('') or one agent, until a person resumes it.
CREATE TABLE pauses (
  agent  TEXT PRIMARY KEY CHECK (octet_length(agent) <= 63),
  actor  TEXT NOT NULL,
  reason TEXT NOT NULL CHECK (octet_length(reason) <= 65536),
  since  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose StatementBegin
CREATE TRIGGER blockers_insert BEFORE INSERT ON blockers
WHEN (SELECT archived_at FROM tasks WHERE id = new.task_id) IS NOT NULL
BEGIN SELECT raise(ABORT, 'history is immutable'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER blockers_update BEFORE UPDATE ON blockers
BEGIN SELECT raise(ABORT, 'blockers are added and removed'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER blockers_delete BEFORE DELETE ON blockers
WHEN (SELECT archived_at FROM tasks WHERE id = old.task_id) IS NOT NULL
BEGIN SELECT raise(ABORT, 'history is immutable'); END;
-- +goose StatementEnd

-- What running runs asked before a tool call, and what people said.
CREATE TABLE permissions (
  run_id     INTEGER NOT NULL REFERENCES runs (id),
  n          INTEGER NOT NULL CHECK (n >= 1),
  tool       TEXT NOT NULL CHECK (octet_length(tool) BETWEEN 1 AND 400),
  input      TEXT NOT NULL CHECK (octet_length(input) BETWEEN 1 AND 1048576),
  reason     TEXT NOT NULL CHECK (octet_length(reason) <= 16384),
  asked_at   INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  decision   TEXT NOT NULL DEFAULT '' CHECK (decision IN ('', 'allowed', 'denied', 'expired', 'void')),
  scope      TEXT NOT NULL DEFAULT '' CHECK (scope IN ('', 'once', 'run')),
  decided_by TEXT NOT NULL DEFAULT '',
  decided_at INTEGER,
  message    TEXT NOT NULL DEFAULT '' CHECK (octet_length(message) <= 65536),
  PRIMARY KEY (run_id, n),
  CHECK ((decided_at IS NULL) = (decision = ''))
) STRICT;
-- A run asks one thing at a time.
CREATE UNIQUE INDEX permissions_open ON permissions (run_id) WHERE decision = '';
CREATE INDEX permissions_expiry ON permissions (expires_at) WHERE decision = '';
CREATE INDEX permissions_granted ON permissions (run_id, tool) WHERE scope = 'run';
-- How long a run waited for permissions, in ms: its clocks stood still.
ALTER TABLE runs ADD COLUMN waited INTEGER NOT NULL DEFAULT 0;

-- +goose StatementBegin
CREATE TRIGGER permissions_final BEFORE UPDATE ON permissions
WHEN old.decision <> '' OR new.run_id <> old.run_id OR new.n <> old.n OR new.tool <> old.tool OR new.input <> old.input OR new.asked_at <> old.asked_at
BEGIN SELECT raise(ABORT, 'a permission is decided once'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER permissions_kept BEFORE DELETE ON permissions
BEGIN SELECT raise(ABORT, 'permissions are kept for ever'); END;
-- +goose StatementEnd

-- What was used a day (its start, UTC), counted as it is told: budgets and the
-- usage report read these sums.
CREATE TABLE usage_days (
  day        INTEGER NOT NULL,
  agent      TEXT NOT NULL,
  model      TEXT NOT NULL,
  runs       INTEGER NOT NULL, -- that ended
  tool_calls INTEGER NOT NULL,
  tokens_in  INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  cost_usd   REAL NOT NULL,
  estimated  INTEGER NOT NULL,
  PRIMARY KEY (day, agent, model)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_days
SELECT ended_at / 86400000 * 86400000 AS d, agent, model, count(*), sum(coalesce(json_extract(usage, '$.toolCalls'), 0)),
 sum(coalesce(json_extract(usage, '$.tokensIn'), 0)), sum(coalesce(json_extract(usage, '$.tokensOut'), 0)), sum(coalesce(json_extract(usage, '$.costUsd'), 0.0)), 0
FROM runs WHERE ended_at IS NOT NULL AND started_at IS NOT NULL GROUP BY d, agent, model;

-- Filters of lists that people keep, each for themselves.
CREATE TABLE saved_views (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id    INTEGER NOT NULL REFERENCES users (id),
  name       TEXT NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 240),
  path       TEXT NOT NULL CHECK (octet_length(path) BETWEEN 1 AND 2000),
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX saved_views_name ON saved_views (user_id, name COLLATE NOCASE);
-- What people chose for themselves; what is not here is as it comes.
CREATE TABLE preferences (
  user_id INTEGER NOT NULL REFERENCES users (id),
  name    TEXT NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 40),
  value   TEXT NOT NULL CHECK (octet_length(value) BETWEEN 1 AND 200),
  PRIMARY KEY (user_id, name)
) STRICT, WITHOUT ROWID;
-- What a person does not want to see in their inbox until a moment. ref is the
-- question's or the notice's message, the run, or the task; mark tells one
-- cause from the next: the permission, the failed run, the blockers lost.
CREATE TABLE snoozes (
  user_id INTEGER NOT NULL,
  kind    TEXT NOT NULL CHECK (kind IN ('question', 'approval', 'permission', 'stuck', 'lost', 'notice')),
  ref     INTEGER NOT NULL,
  mark    INTEGER NOT NULL,
  task_id INTEGER NOT NULL REFERENCES tasks (id),
  until   INTEGER NOT NULL,
  PRIMARY KEY (user_id, kind, ref)
) STRICT, WITHOUT ROWID;
CREATE INDEX snoozes_until ON snoozes (until);

-- What is to be told outside, until it was. text is one line.
CREATE TABLE outbox (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  target     TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('question', 'approval', 'failure', 'blocked', 'notice')),
  task_id    INTEGER NOT NULL REFERENCES tasks (id),
  run_id     INTEGER NOT NULL DEFAULT 0,
  text       TEXT NOT NULL CHECK (octet_length(text) BETWEEN 1 AND 4096),
  created_at INTEGER NOT NULL,
  tries      INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL
) STRICT;
CREATE INDEX outbox_due ON outbox (target, not_before, id);

-- What happened in an hour (its start, UTC), counted as it happens: tasks of
-- an owner that were created, done or canceled, what came to wait for a person
-- (asked), and runs of an agent that ended. Runs alone have a model and sums.
CREATE TABLE stats_hours (
  hour       INTEGER NOT NULL,
  agent      TEXT NOT NULL,
  model      TEXT NOT NULL,
  what       TEXT NOT NULL CHECK (what IN ('created', 'done', 'canceled', 'asked', 'run.completed', 'run.failed', 'run.canceled')),
  n          INTEGER NOT NULL,
  millis     INTEGER NOT NULL DEFAULT 0,
  tokens_in  INTEGER NOT NULL DEFAULT 0,
  tokens_out INTEGER NOT NULL DEFAULT 0,
  cost_usd   REAL NOT NULL DEFAULT 0,
  estimated  INTEGER NOT NULL DEFAULT 0, -- 1: tokens or cost are, in part
  PRIMARY KEY (hour, agent, model, what)
) STRICT, WITHOUT ROWID;
INSERT INTO stats_hours
SELECT ended_at / 3600000 * 3600000 AS h, agent, model, 'run.' || status, count(*), sum(ended_at - coalesce(started_at, ended_at)),
 sum(coalesce(json_extract(usage, '$.tokensIn'), 0)), sum(coalesce(json_extract(usage, '$.tokensOut'), 0)), sum(coalesce(json_extract(usage, '$.costUsd'), 0.0)),
 max(coalesce(json_extract(usage, '$.estimated'), 0))
FROM runs WHERE ended_at IS NOT NULL GROUP BY h, agent, model, status;
INSERT INTO stats_hours (hour, agent, model, what, n)
SELECT created_at / 3600000 * 3600000 AS h, owner, '', 'created', count(*) FROM tasks GROUP BY h, owner
UNION ALL SELECT archived_at / 3600000 * 3600000 AS h, owner, '', status, count(*) FROM tasks WHERE archived_at IS NOT NULL GROUP BY h, owner, status;
DROP TABLE run_hours;

-- What runs left in their workspaces, as their supervisor saw it. Of the files
-- the first thousand are named; their lines are dropped with the transcript.
CREATE TABLE run_work (
  run_id     INTEGER PRIMARY KEY REFERENCES runs (id),
  total      INTEGER NOT NULL CHECK (total >= 0),
  note       TEXT NOT NULL CHECK (octet_length(note) <= 2000),
  repository TEXT NOT NULL CHECK (octet_length(repository) <= 4096),
  branch     TEXT NOT NULL CHECK (octet_length(branch) <= 400),
  folder     TEXT NOT NULL CHECK (octet_length(folder) <= 4096)
) STRICT;
CREATE TABLE run_files (
  run_id  INTEGER NOT NULL REFERENCES runs (id),
  n       INTEGER NOT NULL CHECK (n >= 1),
  path    TEXT NOT NULL CHECK (octet_length(path) BETWEEN 1 AND 1024),
  change  TEXT NOT NULL CHECK (change IN ('added', 'modified', 'deleted')),
  added   INTEGER NOT NULL CHECK (added >= 0),
  removed INTEGER NOT NULL CHECK (removed >= 0),
  note    TEXT NOT NULL CHECK (octet_length(note) <= 400),
  diff    TEXT NOT NULL CHECK (octet_length(diff) <= 65536),
  PRIMARY KEY (run_id, n)
) STRICT;
CREATE INDEX run_files_lines ON run_files (run_id) WHERE diff <> '';

-- A decision on a waiting run that may still be taken back, as JSON, and when
-- it takes effect.
ALTER TABLE runs ADD COLUMN held TEXT;
ALTER TABLE runs ADD COLUMN held_until INTEGER;
CREATE INDEX runs_held ON runs (held_until) WHERE status = 'pending' AND phase = 'approval' AND held_until IS NOT NULL;

-- What a run would have done, each time that it was asked anew because that
-- changed: reviewers see the difference.
CREATE TABLE run_specs (
  run_id  INTEGER NOT NULL REFERENCES runs (id),
  version TEXT NOT NULL,
  spec    TEXT NOT NULL,
  at      INTEGER NOT NULL,
  UNIQUE (run_id, version)
) STRICT;
CREATE INDEX run_specs_run ON run_specs (run_id, at);
-- The lists of history are read from their indexes, whatever they are narrowed
-- by: the rows themselves are looked up for what is shown alone.
DROP INDEX tasks_history;
CREATE INDEX tasks_history ON tasks (archived_at DESC, id DESC, status, created_by) WHERE archived_at IS NOT NULL;
DROP INDEX tasks_owner_history;
CREATE INDEX tasks_owner_history ON tasks (owner, archived_at DESC, id DESC, status, created_by) WHERE archived_at IS NOT NULL;
DROP INDEX runs_ended;
CREATE INDEX runs_ended ON runs (ended_at, status, agent, started_at) WHERE ended_at IS NOT NULL;
CREATE TABLE history_labels (
  label       TEXT NOT NULL,
  archived_at INTEGER NOT NULL,
  task_id     INTEGER NOT NULL REFERENCES tasks (id),
  PRIMARY KEY (label, archived_at, task_id)
) STRICT, WITHOUT ROWID;
-- +goose StatementBegin
CREATE TRIGGER tasks_labels AFTER UPDATE OF archived_at ON tasks WHEN new.archived_at IS NOT NULL AND new.labels <> ''
BEGIN
  INSERT OR IGNORE INTO history_labels (label, archived_at, task_id)
  SELECT value, new.archived_at, new.id FROM json_each('["' || replace(new.labels, ' ', '","') || '"]');
END;
-- +goose StatementEnd

-- Full text over the transcripts of ended runs, a line each: docid is the task
-- times 2^32 plus the message, so that both searches go by the task. It is
-- written in the background, as the other is, which is made anew for it.
CREATE VIRTUAL TABLE search_lines USING fts4 (content, tokenize=unicode61);
DELETE FROM settings WHERE key = 'search_event';

-- How many active tasks an agent ('': the yard) had at the end of an hour, as
-- far as somebody looked.
CREATE TABLE depth_hours (
  hour    INTEGER NOT NULL,
  agent   TEXT NOT NULL,
  queued  INTEGER NOT NULL,
  working INTEGER NOT NULL,
  waiting INTEGER NOT NULL, -- for a person; counted in queued or working too
  PRIMARY KEY (hour, agent)
) STRICT, WITHOUT ROWID;

-- What boards and the navigation count is read from the indexes alone: a row of
-- each would be a page of each.
DROP INDEX tasks_owner;
CREATE INDEX tasks_owner ON tasks (owner, priority DESC, id, status, created_at) WHERE archived_at IS NULL;
DROP INDEX tasks_lease;
CREATE INDEX tasks_lease ON tasks (claim_expires, owner) WHERE claim_expires IS NOT NULL;
DROP INDEX runs_approval;
CREATE INDEX runs_approval ON runs (approval_expires, id, task_id, agent, held_until) WHERE status = 'pending' AND phase = 'approval';
DROP INDEX runs_running;
CREATE INDEX runs_running ON runs (agent, id, task_id, phase) WHERE status = 'running';
