-- +goose Up
-- The tokens of a person's account, which the person lists and which end when
-- the person is disabled.
CREATE INDEX tokens_user ON tokens (user_id, id) WHERE user_id IS NOT NULL;
