-- +goose Up
-- From where a change came: the token and the request that made it, and the
-- network address of the caller. Lines from before have none.
ALTER TABLE events ADD COLUMN token_id INTEGER;
ALTER TABLE events ADD COLUMN request_id TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN address TEXT NOT NULL DEFAULT '';

-- Names of tokens are unique among those that hold; which hold depends on the
-- time, so the service looks before it adds one.
CREATE INDEX tokens_name ON tokens (name COLLATE NOCASE) WHERE revoked_at IS NULL AND run_id IS NULL;
