-- +goose Up
-- When a run ends that has closed its own task, or given it away: until then
-- its program may end by itself.
ALTER TABLE runs ADD COLUMN closing_at INTEGER;
CREATE INDEX runs_closing ON runs (closing_at) WHERE status = 'running' AND closing_at IS NOT NULL;

-- The valid tokens of an agent, which end when it is removed.
CREATE INDEX tokens_agent ON tokens (agent, id) WHERE agent <> '' AND revoked_at IS NULL AND run_id IS NULL;
