-- +goose Up
-- What a task itself must show before it is done, and by whose votes: checks,
-- a policy, and agents that stay responsible after they gave it away.

ALTER TABLE tasks ADD COLUMN demands TEXT NOT NULL DEFAULT ''; -- JSON; '': nothing

-- The role of a person when they voted: policies name roles too.
ALTER TABLE votes ADD COLUMN role TEXT NOT NULL DEFAULT '' CHECK (role IN ('', 'reviewer', 'admin'));
UPDATE votes SET role = coalesce((SELECT role FROM users WHERE role IN ('reviewer', 'admin') AND 'user:' || name = person), '');

-- The person who had a check run again; '': a completion or a merge did.
ALTER TABLE check_runs ADD COLUMN asked_by TEXT NOT NULL DEFAULT '';

-- A task that demands something is done with its result, in a project or not.
DROP TRIGGER tasks_proven;
-- +goose StatementBegin
CREATE TRIGGER tasks_proven BEFORE UPDATE OF status ON tasks WHEN new.status = 'done' AND old.status <> 'done'
  AND (old.project <> '' OR new.project <> '' OR old.demands <> '')
  AND NOT EXISTS (SELECT 1 FROM results WHERE task_id = new.id AND state IN ('merged', 'done'))
  AND NOT EXISTS (SELECT 1 FROM task_bounds WHERE task_id = new.id AND parent_run <> 0)
BEGIN SELECT raise(ABORT, 'a task of a project is done with its result'); END;
-- +goose StatementEnd
