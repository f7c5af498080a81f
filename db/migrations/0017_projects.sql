-- +goose Up
-- Projects, what is checked before a task is done, results, their review and merge.

CREATE TABLE projects (
  key            TEXT PRIMARY KEY CHECK (octet_length(key) BETWEEN 1 AND 32),
  name           TEXT NOT NULL,
  description    TEXT NOT NULL DEFAULT '',
  repository     TEXT NOT NULL DEFAULT '' CHECK (octet_length(repository) <= 4096),
  default_branch TEXT NOT NULL DEFAULT '',
  branch_prefix  TEXT NOT NULL DEFAULT '',
  setup          TEXT NOT NULL DEFAULT '[]',
  checks         TEXT NOT NULL DEFAULT '[]',
  review         TEXT NOT NULL DEFAULT '{}',
  merge          TEXT, -- NULL: nothing is merged
  archived       INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1)),
  version        INTEGER NOT NULL DEFAULT 1,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The project of a task, and what its result waits for.
ALTER TABLE tasks ADD COLUMN project TEXT NOT NULL DEFAULT '' CHECK (octet_length(project) <= 32);
ALTER TABLE tasks ADD COLUMN awaits TEXT NOT NULL DEFAULT '' CHECK (awaits IN ('', 'review', 'merge'));
DROP INDEX tasks_claimable;
CREATE INDEX tasks_claimable ON tasks (owner, resumes DESC, priority DESC, id)
  WHERE status = 'active' AND claim_holder IS NULL AND question_id IS NULL AND run_id IS NULL AND blocked = 0 AND awaits = '';
DROP INDEX tasks_held_up;
CREATE INDEX tasks_held_up ON tasks (priority DESC, id, owner)
  WHERE archived_at IS NULL AND status = 'active'
  AND (question_id IS NOT NULL OR blockers_canceled > 0 OR run_id IS NOT NULL OR awaits <> '');
CREATE INDEX tasks_awaits ON tasks (id, owner, awaits) WHERE awaits <> '' AND archived_at IS NULL;
CREATE INDEX tasks_project ON tasks (project, priority DESC, id) WHERE project <> '' AND archived_at IS NULL;
CREATE INDEX tasks_project_history ON tasks (project, archived_at DESC, id DESC) WHERE project <> '' AND archived_at IS NOT NULL;

-- What came out of a task. Only its state changes.
CREATE TABLE results (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id    INTEGER NOT NULL REFERENCES tasks (id),
  number     INTEGER NOT NULL CHECK (number >= 1),
  run_id     INTEGER REFERENCES runs (id),
  author     TEXT NOT NULL,
  summary    TEXT NOT NULL DEFAULT '' CHECK (octet_length(summary) <= 65536),
  resources  TEXT NOT NULL DEFAULT '[]',
  project    TEXT NOT NULL,
  branch     TEXT NOT NULL DEFAULT '',
  base       TEXT NOT NULL DEFAULT '',
  head       TEXT NOT NULL DEFAULT '',
  patch      TEXT NOT NULL DEFAULT '',
  digest     TEXT NOT NULL CHECK (octet_length(digest) = 64),
  policy     TEXT NOT NULL,
  flags      TEXT NOT NULL DEFAULT '[]',
  state      TEXT NOT NULL CHECK (state IN ('review', 'accepted', 'changes_requested', 'superseded', 'merged', 'done', 'canceled')),
  reminded   INTEGER NOT NULL DEFAULT 0, -- when its reviewers were reminded
  created_at INTEGER NOT NULL,
  UNIQUE (task_id, number)
) STRICT;
CREATE INDEX results_review ON results (id) WHERE state = 'review';

-- Executions of checks by the server.
CREATE TABLE check_runs (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id    INTEGER NOT NULL REFERENCES tasks (id),
  result_id  INTEGER REFERENCES results (id),
  run_id     INTEGER REFERENCES runs (id), -- whose completion asked for it
  name       TEXT NOT NULL,
  command    TEXT NOT NULL DEFAULT '',
  required   INTEGER NOT NULL CHECK (required IN (0, 1)),
  commit_id  TEXT NOT NULL DEFAULT '',
  verdict    TEXT NOT NULL CHECK (verdict IN ('passed', 'failed', 'timed_out', 'not_run')),
  exit_code  INTEGER NOT NULL DEFAULT 0,
  reason     TEXT NOT NULL DEFAULT '',
  millis     INTEGER NOT NULL DEFAULT 0,
  log        TEXT NOT NULL DEFAULT '' CHECK (octet_length(log) <= 300000),
  log_hash   TEXT NOT NULL DEFAULT '',
  level      TEXT NOT NULL DEFAULT '',
  merge      INTEGER NOT NULL DEFAULT 0 CHECK (merge IN (0, 1)),
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX check_runs_task ON check_runs (task_id, id);
CREATE INDEX check_runs_result ON check_runs (result_id, id) WHERE result_id IS NOT NULL;
CREATE INDEX check_runs_run ON check_runs (run_id, id) WHERE run_id IS NOT NULL;

-- Votes belong to one person and one digest: the last one counts.
CREATE TABLE votes (
  task_id INTEGER NOT NULL REFERENCES tasks (id),
  digest  TEXT NOT NULL,
  person  TEXT NOT NULL,
  accept  INTEGER NOT NULL CHECK (accept IN (0, 1)),
  text    TEXT NOT NULL DEFAULT '' CHECK (octet_length(text) <= 65536),
  at      INTEGER NOT NULL,
  PRIMARY KEY (task_id, digest, person)
) STRICT, WITHOUT ROWID;

CREATE TABLE review_comments (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id      INTEGER NOT NULL REFERENCES tasks (id),
  result_id    INTEGER NOT NULL REFERENCES results (id),
  author       TEXT NOT NULL,
  path         TEXT NOT NULL DEFAULT '' CHECK (octet_length(path) <= 4096),
  side         TEXT NOT NULL DEFAULT '' CHECK (side IN ('', 'old', 'new')),
  line         INTEGER NOT NULL DEFAULT 0 CHECK (line >= 0),
  end_line     INTEGER NOT NULL DEFAULT 0 CHECK (end_line >= line),
  excerpt      TEXT NOT NULL DEFAULT '' CHECK (octet_length(excerpt) <= 65536),
  text         TEXT NOT NULL CHECK (octet_length(text) <= 65536),
  state        TEXT NOT NULL CHECK (state IN ('draft', 'open', 'fixed', 'declined', 'resolved')),
  created_at   INTEGER NOT NULL,
  submitted_at INTEGER
) STRICT;
CREATE INDEX review_comments_task ON review_comments (task_id, id);
CREATE TABLE review_replies (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  comment_id INTEGER NOT NULL REFERENCES review_comments (id),
  author     TEXT NOT NULL,
  state      TEXT NOT NULL DEFAULT '' CHECK (state IN ('', 'open', 'fixed', 'declined', 'resolved')),
  text       TEXT NOT NULL DEFAULT '' CHECK (octet_length(text) <= 65536),
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX review_replies_comment ON review_replies (comment_id, id);

-- Which file a person has viewed, as it was.
CREATE TABLE viewed_files (
  task_id INTEGER NOT NULL REFERENCES tasks (id),
  person  TEXT NOT NULL,
  path    TEXT NOT NULL CHECK (octet_length(path) <= 4096),
  mark    TEXT NOT NULL, -- the file's change, as the page has shown it
  at      INTEGER NOT NULL,
  PRIMARY KEY (task_id, person, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE merges (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id    INTEGER NOT NULL REFERENCES tasks (id),
  result_id  INTEGER NOT NULL REFERENCES results (id),
  project    TEXT NOT NULL,
  repository TEXT NOT NULL,
  target     TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('queued', 'running', 'waiting', 'merged', 'failed', 'canceled')),
  code       TEXT NOT NULL DEFAULT '',
  reason     TEXT NOT NULL DEFAULT '',
  head_before TEXT NOT NULL DEFAULT '',
  head_after TEXT NOT NULL DEFAULT '',
  not_before INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at   INTEGER,
  branch_gone INTEGER NOT NULL DEFAULT 0 CHECK (branch_gone IN (0, 1)),
  CHECK ((ended_at IS NOT NULL) = (state IN ('merged', 'failed', 'canceled')))
) STRICT;
-- One open merge a task, for ever.
CREATE UNIQUE INDEX merges_open ON merges (task_id) WHERE ended_at IS NULL;
CREATE INDEX merges_queue ON merges (id) WHERE ended_at IS NULL;
CREATE INDEX merges_task ON merges (task_id, id);
CREATE INDEX merges_project ON merges (project, id DESC);
CREATE INDEX merges_branches ON merges (ended_at) WHERE state = 'merged' AND branch_gone = 0;

-- Results can be put off too.
ALTER TABLE snoozes RENAME TO snoozes_before;
CREATE TABLE snoozes (
  user_id INTEGER NOT NULL,
  kind    TEXT NOT NULL CHECK (kind IN ('question', 'approval', 'permission', 'review', 'stuck', 'lost', 'notice')),
  ref     INTEGER NOT NULL,
  mark    INTEGER NOT NULL,
  task_id INTEGER NOT NULL REFERENCES tasks (id),
  until   INTEGER NOT NULL,
  PRIMARY KEY (user_id, kind, ref)
) STRICT, WITHOUT ROWID;
INSERT INTO snoozes SELECT user_id, kind, ref, mark, task_id, until FROM snoozes_before;
DROP TABLE snoozes_before;
CREATE INDEX snoozes_until ON snoozes (until);

-- What people say to a run that works.
CREATE TABLE run_messages (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id       INTEGER NOT NULL REFERENCES runs (id),
  author       TEXT NOT NULL,
  text         TEXT NOT NULL CHECK (octet_length(text) BETWEEN 1 AND 65536),
  created_at   INTEGER NOT NULL,
  delivered_at INTEGER
) STRICT;
CREATE INDEX run_messages_run ON run_messages (run_id, id);

-- +goose StatementBegin
CREATE TRIGGER results_immutable BEFORE UPDATE OF id, task_id, number, run_id, author, summary, resources, project, branch, base, head,
  patch, digest, policy, flags, created_at ON results
BEGIN SELECT raise(ABORT, 'results are immutable'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER results_final BEFORE UPDATE OF state ON results
WHEN old.state IN ('superseded', 'merged', 'done', 'canceled') AND new.state <> old.state
BEGIN SELECT raise(ABORT, 'a result that has ended is final'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER results_kept BEFORE DELETE ON results
BEGIN SELECT raise(ABORT, 'results are kept for ever'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER check_runs_immutable BEFORE UPDATE ON check_runs
BEGIN SELECT raise(ABORT, 'what a check found is immutable'); END;
-- +goose StatementEnd
-- A task of a project is done with a result that was accepted, or needed
-- nobody. What a run delegated belongs to the result of the task above.
-- +goose StatementBegin
CREATE TRIGGER tasks_proven BEFORE UPDATE OF status ON tasks WHEN new.status = 'done' AND old.status <> 'done'
  AND (old.project <> '' OR new.project <> '')
  AND NOT EXISTS (SELECT 1 FROM results WHERE task_id = new.id AND state IN ('merged', 'done'))
  AND NOT EXISTS (SELECT 1 FROM task_bounds WHERE task_id = new.id AND parent_run <> 0)
BEGIN SELECT raise(ABORT, 'a task of a project is done with its result'); END;
-- +goose StatementEnd
