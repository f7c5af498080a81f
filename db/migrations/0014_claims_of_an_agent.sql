-- +goose Up
-- The claims that an agent holds are counted without a look at those of others.
DROP INDEX tasks_lease;
CREATE INDEX tasks_lease ON tasks (owner, claim_expires) WHERE claim_expires IS NOT NULL;
