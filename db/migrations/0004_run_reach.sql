-- +goose Up
-- What the token of a run may change beside the run's task and the tasks below
-- it: what the run created (claim_id 0), and what it claimed, while that claim
-- holds.
CREATE TABLE run_reach (
  run_id   INTEGER NOT NULL REFERENCES runs (id),
  task_id  INTEGER NOT NULL REFERENCES tasks (id),
  claim_id INTEGER NOT NULL,
  PRIMARY KEY (run_id, task_id, claim_id)
) STRICT, WITHOUT ROWID;
