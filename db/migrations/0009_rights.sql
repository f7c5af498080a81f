-- +goose Up
-- What agents, and programs with tokens of people, brought about of a task
-- since a person last consented to it, and what they could do themselves: runs
-- that can do more wait for a person.
CREATE TABLE hands (
  task_id INTEGER NOT NULL REFERENCES tasks (id),
  part    TEXT NOT NULL CHECK (part IN ('created', 'started', 'owner', 'title', 'description', 'steps', 'resources', 'comment')),
  actor   TEXT NOT NULL,
  whole   INTEGER NOT NULL CHECK (whole IN (0, 1)), -- with all the rights of its definition
  rights  TEXT NOT NULL, -- {tools, limits, depth}
  at      INTEGER NOT NULL,
  PRIMARY KEY (task_id, part, actor)
) STRICT, WITHOUT ROWID;
-- Until now this stood in two marks in the place of a grant's hash.
INSERT INTO hands (task_id, part, actor, whole, rights, at)
SELECT id, 'created', created_by, 0, '{"tools":[]}', created_at FROM tasks
WHERE archived_at IS NULL AND created_by NOT LIKE 'user:%' AND created_by <> 'system' AND coalesce(grant_hash, '') IN ('', '-');
INSERT INTO hands (task_id, part, actor, whole, rights, at)
SELECT id, 'started', coalesce(nullif(grant_by, ''), 'agent'), 0, '{"tools":[]}', updated_at FROM tasks WHERE archived_at IS NULL AND grant_hash = '-';
UPDATE tasks SET grant_hash = NULL WHERE archived_at IS NULL AND grant_hash IN ('*', '-');

-- What bounds the runs of a task that a run brought about.
CREATE TABLE task_bounds (
  task_id    INTEGER PRIMARY KEY REFERENCES tasks (id),
  tree_run   INTEGER NOT NULL DEFAULT 0,
  parent_run INTEGER NOT NULL DEFAULT 0,
  depth      INTEGER NOT NULL,
  ask        TEXT NOT NULL
) STRICT;
INSERT INTO task_bounds (task_id, tree_run, parent_run, depth, ask)
SELECT r.task_id, coalesce(r.parent_run, 0), coalesce(r.parent_run, 0), r.depth, r.ask FROM runs r
WHERE r.id IN (SELECT max(id) FROM runs WHERE ask IS NOT NULL GROUP BY task_id);

-- How often agents had others do something: what task_tool.max_per_hour counts.
CREATE TABLE handed_out (
  agent TEXT NOT NULL,
  at    INTEGER NOT NULL
) STRICT;
CREATE INDEX handed_out_agent ON handed_out (agent, at);
CREATE INDEX handed_out_at ON handed_out (at);
INSERT INTO handed_out (agent, at) SELECT asked_by, created_at FROM runs INDEXED BY runs_delegated
WHERE cause = 'delegate' AND created_at > (unixepoch() - 3600) * 1000;
DROP INDEX runs_delegated;

-- The run in whose limits the tokens and the cost of a run count, the token by
-- which it was asked for, and why it needs approval.
ALTER TABLE runs ADD COLUMN tree_run INTEGER REFERENCES runs (id);
ALTER TABLE runs ADD COLUMN asked_token INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN approval_why TEXT NOT NULL DEFAULT '' CHECK (octet_length(approval_why) <= 16384);
DROP TRIGGER runs_final;
UPDATE runs SET tree_run = parent_run WHERE parent_run IS NOT NULL;
-- +goose StatementBegin
CREATE TRIGGER runs_final BEFORE UPDATE ON runs WHEN old.ended_at IS NOT NULL
BEGIN SELECT raise(ABORT, 'a run that ended is final'); END;
-- +goose StatementEnd
CREATE INDEX runs_tree ON runs (tree_run, id) WHERE tree_run IS NOT NULL;
