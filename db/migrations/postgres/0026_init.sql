-- +goose Up
-- The schema of migration 26 of SQLite, on PostgreSQL: the same tables, rules
-- and names. Times are integer milliseconds since 1970, UTC; lengths are bytes;
-- 0 and 1 stand for no and yes. Text is compared by its bytes, as SQLite does.

-- Names of people and tokens are equal in either case.
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

-- Numbers are given one after the other and never again, without gaps: one
-- transaction writes at a time.
CREATE TABLE sequences (
  name text COLLATE "C" PRIMARY KEY,
  seq  bigint NOT NULL
);
INSERT INTO sequences (name, seq) VALUES ('tasks', 0), ('messages', 0), ('runs', 0), ('events', 0), ('ticks', 0), ('users', 0), ('tokens', 0), ('saved_views', 0), ('outbox', 0), ('results', 0), ('check_runs', 0), ('review_comments', 0), ('review_replies', 0), ('merges', 0), ('run_messages', 0);
-- +goose StatementBegin
CREATE FUNCTION next_id(of text) RETURNS bigint LANGUAGE sql VOLATILE AS
$$ UPDATE sequences SET seq = seq + 1 WHERE name = of RETURNING seq $$;
-- +goose StatementEnd

-- The last batch that each process wrote: one whose connection was lost while
-- it was committed looks here.
CREATE TABLE commits (
  writer text COLLATE "C" PRIMARY KEY,
  batch  bigint NOT NULL,
  at     bigint NOT NULL
);

-- What SQLite has and PostgreSQL calls otherwise.
-- +goose StatementBegin
CREATE FUNCTION instr(of text, part text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT strpos(of, part) $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION max(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT greatest(a, b) $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION min(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT least(a, b) $$;
-- +goose StatementEnd
-- The elements of a JSON array, numbered from 0.
-- +goose StatementBegin
CREATE FUNCTION json_elements(list text) RETURNS TABLE (key bigint, value text) LANGUAGE sql IMMUTABLE ROWS 20 AS
$$ SELECT n - 1, v FROM json_array_elements_text(list::json) WITH ORDINALITY AS e (v, n) $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION json_extract(of text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT jsonb_path_query_first(of::jsonb, path::jsonpath) #>> '{}' $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION json(of text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT of::json $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION date(seconds bigint, as_unix text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT to_char(to_timestamp(seconds) AT TIME ZONE 'UTC', 'YYYY-MM-DD') $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION json_valid(of text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS
$$ BEGIN PERFORM of::json; RETURN true; EXCEPTION WHEN others THEN RETURN false; END $$;
-- +goose StatementEnd

-- The words of a text as the search knows them: letters and digits, in lower
-- case, without accents.
-- +goose StatementBegin
CREATE FUNCTION words_of(of text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT coalesce(array_agg(DISTINCT left(w, 500)), '{}') FROM regexp_split_to_table(
 lower(regexp_replace(normalize(of, NFD), '[\u0300-\u036f]', '', 'g') COLLATE "und-x-icu"), '[^[:alnum:]]+') w WHERE w <> '' $$;
-- +goose StatementEnd
-- The search for words, each in quotation marks; one that ends with a * is the
-- beginning of a word.
-- +goose StatementBegin
CREATE FUNCTION words_query(terms text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT string_agg(quote_literal(w) || CASE WHEN starts THEN ':*' ELSE '' END, ' & ')::tsquery
 FROM (SELECT DISTINCT unnest(words_of(term)) AS w, term LIKE '%*' AS starts
  FROM regexp_split_to_table(replace(terms, '"', ''), ' ') term) t $$;
-- +goose StatementEnd
-- Whether the words of a search, the last of which may be a beginning, are in a text.
-- +goose StatementBegin
CREATE FUNCTION words_fit(query text, title text, description text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT array_to_tsvector(words_of(title || chr(10) || description)) @@
 words_query('"' || regexp_replace(btrim(regexp_replace(query COLLATE "und-x-icu", '[^[:alnum:]]+', ' ', 'g')), ' ', '" "', 'g') || '*"') $$;
-- +goose StatementEnd

CREATE TABLE tasks (
  id            bigint PRIMARY KEY DEFAULT next_id('tasks'),
  title         text COLLATE "C" NOT NULL CHECK (octet_length(title) BETWEEN 1 AND 800),
  owner         text COLLATE "C" NOT NULL CHECK (octet_length(owner) BETWEEN 1 AND 63),
  created_by    text COLLATE "C" NOT NULL,
  status        text COLLATE "C" NOT NULL CHECK (status IN ('draft', 'active', 'done', 'canceled')),
  priority      bigint NOT NULL DEFAULT 0,
  version       bigint NOT NULL DEFAULT 1,
  channel       text COLLATE "C" NOT NULL DEFAULT 'web',
  parent_id     bigint REFERENCES tasks (id),
  nesting       bigint NOT NULL DEFAULT 0 CHECK (nesting BETWEEN 0 AND 10),
  claim_seq     bigint NOT NULL DEFAULT 0, -- id of the present or last claim
  claim_holder  text COLLATE "C",
  claim_since   bigint,
  claim_expires bigint,
  question_id   bigint, -- the open question's message
  run_id        bigint, -- the run that waits or runs
  failures      bigint NOT NULL DEFAULT 0, -- failed runs in a row
  grant_hash    text COLLATE "C", -- what a reviewer approved for all runs of this task
  grant_by      text COLLATE "C",
  grant_limits  text COLLATE "C",
  created_at    bigint NOT NULL,
  updated_at    bigint NOT NULL,
  archived_at   bigint,
  -- The long texts stand last, so that reading the rest need not walk over them.
  description   text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(description) <= 65536),
  summary       text COLLATE "C" CHECK (octet_length(summary) <= 65536),
  blocked bigint NOT NULL DEFAULT 0,
  blockers_canceled bigint NOT NULL DEFAULT 0,
  labels text COLLATE "C" NOT NULL DEFAULT '',
  title_by text COLLATE "C" NOT NULL DEFAULT '',
  description_by text COLLATE "C" NOT NULL DEFAULT '',
  resumes bigint NOT NULL DEFAULT 0 CHECK (resumes IN (0, 1)),
  project text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(project) <= 32),
  awaits text COLLATE "C" NOT NULL DEFAULT '' CHECK (awaits IN ('', 'review', 'merge')),
  demands text COLLATE "C" NOT NULL DEFAULT '',
  CHECK ((archived_at IS NULL) = (status IN ('draft', 'active'))),
  CHECK ((claim_holder IS NULL) = (claim_expires IS NULL)),
  CHECK (claim_holder IS NULL OR status = 'active'),
  CHECK (archived_at IS NULL OR (question_id IS NULL AND run_id IS NULL))
);
CREATE INDEX tasks_parent ON tasks (parent_id, id) WHERE parent_id IS NOT NULL;

CREATE TABLE steps (
  task_id    bigint NOT NULL REFERENCES tasks (id),
  position   bigint NOT NULL CHECK (position BETWEEN 0 AND 199),
  title      text COLLATE "C" NOT NULL CHECK (octet_length(title) BETWEEN 1 AND 240),
  details    text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(details) <= 65536),
  done       bigint NOT NULL DEFAULT 0 CHECK (done IN (0, 1)),
  subtask_id bigint REFERENCES tasks (id),
  PRIMARY KEY (task_id, position)
);
CREATE UNIQUE INDEX steps_subtask ON steps (subtask_id) WHERE subtask_id IS NOT NULL;

CREATE TABLE resources (
  task_id  bigint NOT NULL REFERENCES tasks (id),
  position bigint NOT NULL CHECK (position BETWEEN 0 AND 99),
  type     text COLLATE "C" NOT NULL CHECK (type IN ('url', 'file')),
  value    text COLLATE "C" NOT NULL CHECK (octet_length(value) BETWEEN 1 AND 4096),
  label    text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(label) <= 800),
  PRIMARY KEY (task_id, position)
);

CREATE TABLE messages (
  id         bigint PRIMARY KEY DEFAULT next_id('messages'),
  task_id    bigint NOT NULL REFERENCES tasks (id),
  run_id     bigint,
  kind       text COLLATE "C" NOT NULL CHECK (kind IN ('comment', 'handoff', 'notice', 'question', 'answer', 'system', 'run')),
  role       text COLLATE "C" NOT NULL DEFAULT '',
  type       text COLLATE "C" NOT NULL DEFAULT '',
  author     text COLLATE "C" NOT NULL,
  content    text COLLATE "C" NOT NULL CHECK (octet_length(content) <= 1048576),
  data       text COLLATE "C",
  created_at bigint NOT NULL,
  CHECK ((kind = 'run') = (run_id IS NOT NULL))
);
CREATE INDEX messages_thread ON messages (task_id, id) WHERE run_id IS NULL;
CREATE INDEX messages_run ON messages (run_id, id) WHERE run_id IS NOT NULL;

CREATE TABLE definitions (
  hash       text COLLATE "C" PRIMARY KEY,
  agent      text COLLATE "C" NOT NULL,
  text       text COLLATE "C" NOT NULL,
  first_seen bigint NOT NULL
);

CREATE TABLE runs (
  id               bigint PRIMARY KEY DEFAULT next_id('runs'),
  task_id          bigint NOT NULL REFERENCES tasks (id),
  agent            text COLLATE "C" NOT NULL,
  status           text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'failed', 'canceled')),
  phase            text COLLATE "C" NOT NULL,
  cause            text COLLATE "C" NOT NULL,
  asked_by         text COLLATE "C" NOT NULL,
  attempt          bigint NOT NULL DEFAULT 1,
  retry_of         bigint,
  depth            bigint NOT NULL DEFAULT 0,
  reason           text COLLATE "C" NOT NULL DEFAULT '',
  summary          text COLLATE "C" NOT NULL DEFAULT '',
  artifacts        text COLLATE "C" NOT NULL DEFAULT '[]',
  usage            text COLLATE "C" NOT NULL DEFAULT '{}',
  limits           text COLLATE "C" NOT NULL DEFAULT '{}',
  model            text COLLATE "C" NOT NULL DEFAULT '',
  definition_hash  text COLLATE "C" NOT NULL DEFAULT '',
  spec             text COLLATE "C", -- what will run, frozen while an approval is needed
  spec_hash        text COLLATE "C" NOT NULL DEFAULT '',
  approval_expires bigint,
  decision         text COLLATE "C" NOT NULL DEFAULT '' CHECK (decision IN ('', 'approved', 'denied', 'expired')),
  decided_by       text COLLATE "C" NOT NULL DEFAULT '',
  decided_at       bigint,
  scope            text COLLATE "C" NOT NULL DEFAULT '',
  decision_reason  text COLLATE "C" NOT NULL DEFAULT '',
  follow_up        bigint NOT NULL DEFAULT 0,
  claim_id         bigint NOT NULL DEFAULT 0,
  lease            bigint NOT NULL DEFAULT 0,
  lease_expires    bigint,
  pid              bigint NOT NULL DEFAULT 0,
  pid_start        text COLLATE "C" NOT NULL DEFAULT '',
  boot_id          text COLLATE "C" NOT NULL DEFAULT '',
  created_at       bigint NOT NULL,
  not_before       bigint NOT NULL DEFAULT 0,
  started_at       bigint,
  heartbeat_at     bigint,
  ended_at         bigint,
  parent_run bigint REFERENCES runs (id),
  ask text COLLATE "C", worker bigint NOT NULL DEFAULT 0,
  told bigint NOT NULL DEFAULT 0,
  told_bytes bigint NOT NULL DEFAULT 0,
  session text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(session) <= 100),
  folder text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(folder) <= 100),
  waited bigint NOT NULL DEFAULT 0,
  held text COLLATE "C", held_until bigint,
  closing_at bigint,
  tree_run bigint REFERENCES runs (id),
  asked_token bigint NOT NULL DEFAULT 0,
  approval_why text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(approval_why) <= 16384),
  why text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(why) <= 4096),
  news text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(news) <= 4096),
  thread_at bigint,
  CHECK ((ended_at IS NOT NULL) = (status IN ('completed', 'failed', 'canceled')))
);
CREATE UNIQUE INDEX runs_open ON runs (task_id) WHERE status IN ('pending', 'running');
CREATE INDEX runs_queued ON runs (agent, id) WHERE status = 'pending' AND phase = 'queued';
CREATE INDEX runs_task ON runs (task_id, id DESC);
CREATE INDEX runs_agent ON runs (agent, id DESC);
CREATE INDEX runs_status ON runs (status, id DESC);

CREATE TABLE events (
  id      bigint PRIMARY KEY DEFAULT next_id('events'),
  at      bigint NOT NULL,
  actor   text COLLATE "C" NOT NULL,
  kind    text COLLATE "C" NOT NULL,
  task_id bigint,
  run_id  bigint,
  agent   text COLLATE "C" NOT NULL DEFAULT '',
  changes text COLLATE "C" NOT NULL DEFAULT '',
  hash    bytea NOT NULL
, token_id bigint,
  request_id text COLLATE "C" NOT NULL DEFAULT '',
  address text COLLATE "C" NOT NULL DEFAULT '');
CREATE INDEX events_task ON events (task_id, id) WHERE task_id IS NOT NULL;

CREATE TABLE ticks (
  id      bigint PRIMARY KEY DEFAULT next_id('ticks'),
  at      bigint NOT NULL,
  cause   text COLLATE "C" NOT NULL,
  queued  bigint NOT NULL DEFAULT 0,
  skipped bigint NOT NULL DEFAULT 0,
  ended   bigint
);

CREATE TABLE skips (
  task_id bigint PRIMARY KEY REFERENCES tasks (id),
  tick_id bigint NOT NULL,
  reason  text COLLATE "C" NOT NULL,
  detail  text COLLATE "C" NOT NULL DEFAULT ''
);
CREATE INDEX skips_tick ON skips (tick_id, task_id);

CREATE TABLE jobs (
  name     text COLLATE "C" PRIMARY KEY,
  last_at  bigint,
  took_ms  bigint NOT NULL DEFAULT 0,
  error    text COLLATE "C" NOT NULL DEFAULT '',
  runs     bigint NOT NULL DEFAULT 0
);

CREATE TABLE users (
  id           bigint PRIMARY KEY DEFAULT next_id('users'),
  name         text NOT NULL COLLATE nocase UNIQUE,
  role         text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'operator', 'reviewer', 'admin')),
  password     text COLLATE "C" NOT NULL, -- argon2id in its standard form
  created_at   bigint NOT NULL,
  last_seen_at bigint,
  disabled_at  bigint
);

CREATE TABLE sessions (
  hash       text COLLATE "C" PRIMARY KEY, -- of the cookie's token
  user_id    bigint,
  data       bytea NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE tokens (
  id         bigint PRIMARY KEY DEFAULT next_id('tokens'),
  hash       bytea NOT NULL UNIQUE, -- SHA-256 of the secret
  hint       text COLLATE "C" NOT NULL,
  name       text COLLATE "C" NOT NULL,
  scope      text COLLATE "C" NOT NULL,
  agent      text COLLATE "C" NOT NULL DEFAULT '',
  user_id    bigint REFERENCES users (id),
  run_id     bigint,
  created_by text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  used_at    bigint,
  revoked_at bigint
);
CREATE INDEX tokens_run ON tokens (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE idempotency (
  caller     text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL,
  request    bytea NOT NULL, -- SHA-256 of method, path and body
  answer     text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (caller, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE settings (
  key   text COLLATE "C" PRIMARY KEY,
  value text COLLATE "C" NOT NULL
);

CREATE TABLE todos (
  agent    text COLLATE "C" NOT NULL CHECK (octet_length(agent) BETWEEN 1 AND 63),
  position bigint NOT NULL,
  item     text COLLATE "C" NOT NULL CHECK (octet_length(item) BETWEEN 1 AND 16384),
  PRIMARY KEY (agent, position)
);

CREATE TABLE blockers (
  task_id    bigint NOT NULL REFERENCES tasks (id),
  blocker_id bigint NOT NULL REFERENCES tasks (id),
  PRIMARY KEY (task_id, blocker_id),
  CHECK (task_id <> blocker_id)
);
CREATE INDEX blockers_of ON blockers (blocker_id, task_id);
CREATE INDEX tasks_question ON tasks (question_id, owner, status, run_id) WHERE question_id IS NOT NULL;
CREATE INDEX tasks_blocker_canceled ON tasks (id, owner, status) WHERE blockers_canceled > 0 AND archived_at IS NULL;
CREATE INDEX tasks_stuck ON tasks (id, owner, status, run_id, failures, claim_holder) WHERE failures > 0 AND archived_at IS NULL;

CREATE TABLE notices (
  message_id bigint PRIMARY KEY REFERENCES messages (id),
  task_id    bigint NOT NULL REFERENCES tasks (id)
);
CREATE INDEX runs_parent ON runs (parent_run, id) WHERE parent_run IS NOT NULL;
CREATE INDEX runs_woken ON runs (created_at) WHERE cause IN ('wake', 'follow_up');
CREATE INDEX events_definition ON events (agent, id) WHERE kind IN ('agent.saved', 'agent.deleted');

CREATE TABLE pauses (
  agent  text COLLATE "C" PRIMARY KEY CHECK (octet_length(agent) <= 63),
  actor  text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL CHECK (octet_length(reason) <= 65536),
  since  bigint NOT NULL
, stopped text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(stopped) <= 262144));

CREATE TABLE permissions (
  run_id     bigint NOT NULL REFERENCES runs (id),
  n          bigint NOT NULL CHECK (n >= 1),
  tool       text COLLATE "C" NOT NULL CHECK (octet_length(tool) BETWEEN 1 AND 400),
  input      text COLLATE "C" NOT NULL CHECK (octet_length(input) BETWEEN 1 AND 1048576),
  reason     text COLLATE "C" NOT NULL CHECK (octet_length(reason) <= 16384),
  asked_at   bigint NOT NULL,
  expires_at bigint NOT NULL,
  decision   text COLLATE "C" NOT NULL DEFAULT '' CHECK (decision IN ('', 'allowed', 'denied', 'expired', 'void')),
  scope      text COLLATE "C" NOT NULL DEFAULT '' CHECK (scope IN ('', 'once', 'run')),
  decided_by text COLLATE "C" NOT NULL DEFAULT '',
  decided_at bigint,
  message    text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(message) <= 65536),
  PRIMARY KEY (run_id, n),
  CHECK ((decided_at IS NULL) = (decision = ''))
);
CREATE UNIQUE INDEX permissions_open ON permissions (run_id) WHERE decision = '';
CREATE INDEX permissions_expiry ON permissions (expires_at) WHERE decision = '';
CREATE INDEX permissions_granted ON permissions (run_id, tool) WHERE scope = 'run';

CREATE TABLE usage_days (
  day        bigint NOT NULL,
  agent      text COLLATE "C" NOT NULL,
  model      text COLLATE "C" NOT NULL,
  runs       bigint NOT NULL, -- that ended
  tool_calls bigint NOT NULL,
  tokens_in  bigint NOT NULL,
  tokens_out bigint NOT NULL,
  cost_usd   double precision NOT NULL,
  estimated  bigint NOT NULL,
  PRIMARY KEY (day, agent, model)
);

CREATE TABLE saved_views (
  id         bigint PRIMARY KEY DEFAULT next_id('saved_views'),
  user_id    bigint NOT NULL REFERENCES users (id),
  name       text COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 240),
  path       text COLLATE "C" NOT NULL CHECK (octet_length(path) BETWEEN 1 AND 2000),
  created_at bigint NOT NULL
);
CREATE UNIQUE INDEX saved_views_name ON saved_views (user_id, name COLLATE nocase);

CREATE TABLE preferences (
  user_id bigint NOT NULL REFERENCES users (id),
  name    text COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 40),
  value   text COLLATE "C" NOT NULL CHECK (octet_length(value) BETWEEN 1 AND 200),
  PRIMARY KEY (user_id, name)
);

CREATE TABLE outbox (
  id         bigint PRIMARY KEY DEFAULT next_id('outbox'),
  target     text COLLATE "C" NOT NULL,
  kind       text COLLATE "C" NOT NULL CHECK (kind IN ('question', 'approval', 'failure', 'blocked', 'notice')),
  task_id    bigint NOT NULL REFERENCES tasks (id),
  run_id     bigint NOT NULL DEFAULT 0,
  text       text COLLATE "C" NOT NULL CHECK (octet_length(text) BETWEEN 1 AND 4096),
  created_at bigint NOT NULL,
  tries      bigint NOT NULL DEFAULT 0,
  not_before bigint NOT NULL
);
CREATE INDEX outbox_due ON outbox (target, not_before, id);

CREATE TABLE run_work (
  run_id     bigint PRIMARY KEY REFERENCES runs (id),
  total      bigint NOT NULL CHECK (total >= 0),
  note       text COLLATE "C" NOT NULL CHECK (octet_length(note) <= 2000),
  repository text COLLATE "C" NOT NULL CHECK (octet_length(repository) <= 4096),
  branch     text COLLATE "C" NOT NULL CHECK (octet_length(branch) <= 400),
  folder     text COLLATE "C" NOT NULL CHECK (octet_length(folder) <= 4096)
, merge text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(merge) <= 2000));

CREATE TABLE run_files (
  run_id  bigint NOT NULL REFERENCES runs (id),
  n       bigint NOT NULL CHECK (n >= 1),
  path    text COLLATE "C" NOT NULL CHECK (octet_length(path) BETWEEN 1 AND 1024),
  change  text COLLATE "C" NOT NULL CHECK (change IN ('added', 'modified', 'deleted')),
  added   bigint NOT NULL CHECK (added >= 0),
  removed bigint NOT NULL CHECK (removed >= 0),
  note    text COLLATE "C" NOT NULL CHECK (octet_length(note) <= 400),
  diff    text COLLATE "C" NOT NULL CHECK (octet_length(diff) <= 65536),
  PRIMARY KEY (run_id, n)
);
CREATE INDEX run_files_lines ON run_files (run_id) WHERE diff <> '';
CREATE INDEX runs_held ON runs (held_until) WHERE status = 'pending' AND phase = 'approval' AND held_until IS NOT NULL;

CREATE TABLE run_specs (
  id      bigint GENERATED ALWAYS AS IDENTITY, -- the order in which they came
  run_id  bigint NOT NULL REFERENCES runs (id),
  version text COLLATE "C" NOT NULL,
  spec    text COLLATE "C" NOT NULL,
  at      bigint NOT NULL,
  UNIQUE (run_id, version)
);
CREATE INDEX run_specs_run ON run_specs (run_id, at);
CREATE INDEX tasks_history ON tasks (archived_at DESC, id DESC, status, created_by) WHERE archived_at IS NOT NULL;
CREATE INDEX tasks_owner_history ON tasks (owner, archived_at DESC, id DESC, status, created_by) WHERE archived_at IS NOT NULL;
CREATE INDEX runs_ended ON runs (ended_at, status, agent, started_at) WHERE ended_at IS NOT NULL;

CREATE TABLE history_labels (
  label       text COLLATE "C" NOT NULL,
  archived_at bigint NOT NULL,
  task_id     bigint NOT NULL REFERENCES tasks (id),
  PRIMARY KEY (label, archived_at, task_id)
);

CREATE TABLE depth_hours (
  hour    bigint NOT NULL,
  agent   text COLLATE "C" NOT NULL,
  queued  bigint NOT NULL,
  working bigint NOT NULL,
  waiting bigint NOT NULL, -- for a person; counted in queued or working too
  PRIMARY KEY (hour, agent)
);
CREATE INDEX runs_approval ON runs (approval_expires, id, task_id, agent, held_until) WHERE status = 'pending' AND phase = 'approval';
CREATE INDEX runs_running ON runs (agent, id, task_id, phase) WHERE status = 'running';

CREATE TABLE known_addresses (
  user_id bigint NOT NULL REFERENCES users (id),
  address text COLLATE "C" NOT NULL,
  seen_at bigint NOT NULL,
  PRIMARY KEY (user_id, address)
);

CREATE TABLE run_reach (
  run_id   bigint NOT NULL REFERENCES runs (id),
  task_id  bigint NOT NULL REFERENCES tasks (id),
  claim_id bigint NOT NULL,
  PRIMARY KEY (run_id, task_id, claim_id)
);
CREATE INDEX runs_closing ON runs (closing_at) WHERE status = 'running' AND closing_at IS NOT NULL;
CREATE INDEX tokens_agent ON tokens (agent, id) WHERE agent <> '' AND revoked_at IS NULL AND run_id IS NULL;
CREATE INDEX tokens_name ON tokens (name COLLATE nocase) WHERE revoked_at IS NULL AND run_id IS NULL;

CREATE TABLE hands (
  task_id bigint NOT NULL REFERENCES tasks (id),
  part    text COLLATE "C" NOT NULL CHECK (part IN ('created', 'started', 'owner', 'title', 'description', 'steps', 'resources', 'comment')),
  actor   text COLLATE "C" NOT NULL,
  whole   bigint NOT NULL CHECK (whole IN (0, 1)), -- with all the rights of its definition
  rights  text COLLATE "C" NOT NULL, -- {tools, limits, depth}
  at      bigint NOT NULL,
  PRIMARY KEY (task_id, part, actor)
);

CREATE TABLE task_bounds (
  task_id    bigint PRIMARY KEY REFERENCES tasks (id),
  tree_run   bigint NOT NULL DEFAULT 0,
  parent_run bigint NOT NULL DEFAULT 0,
  depth      bigint NOT NULL,
  ask        text COLLATE "C" NOT NULL
);

CREATE TABLE handed_out (
  agent text COLLATE "C" NOT NULL,
  at    bigint NOT NULL
);
CREATE INDEX handed_out_agent ON handed_out (agent, at);
CREATE INDEX handed_out_at ON handed_out (at);
CREATE INDEX runs_tree ON runs (tree_run, id) WHERE tree_run IS NOT NULL;
CREATE INDEX runs_thread ON runs (task_id, thread_at) WHERE thread_at IS NOT NULL;
CREATE INDEX tasks_archived_by ON tasks (created_by, archived_at DESC, id DESC, status) WHERE archived_at IS NOT NULL;

CREATE TABLE task_counts (
  owner  text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL CHECK (status IN ('draft', 'active', 'done', 'canceled')),
  n      bigint NOT NULL CHECK (n >= 0),
  PRIMARY KEY (owner, status)
);
CREATE INDEX tasks_oldest ON tasks (owner, created_at) WHERE status = 'active' AND created_at > 0;
CREATE INDEX tasks_lease ON tasks (owner, claim_expires) WHERE claim_expires IS NOT NULL;
CREATE INDEX notices_task ON notices (task_id);

CREATE TABLE projects (
  key            text COLLATE "C" PRIMARY KEY CHECK (octet_length(key) BETWEEN 1 AND 32),
  name           text COLLATE "C" NOT NULL,
  description    text COLLATE "C" NOT NULL DEFAULT '',
  repository     text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(repository) <= 4096),
  default_branch text COLLATE "C" NOT NULL DEFAULT '',
  branch_prefix  text COLLATE "C" NOT NULL DEFAULT '',
  setup          text COLLATE "C" NOT NULL DEFAULT '[]',
  checks         text COLLATE "C" NOT NULL DEFAULT '[]',
  review         text COLLATE "C" NOT NULL DEFAULT '{}',
  merge          text COLLATE "C", -- NULL: nothing is merged
  archived       bigint NOT NULL DEFAULT 0 CHECK (archived IN (0, 1)),
  version        bigint NOT NULL DEFAULT 1,
  created_at     bigint NOT NULL,
  updated_at     bigint NOT NULL
);
CREATE INDEX tasks_awaits ON tasks (id, owner, awaits) WHERE awaits <> '' AND archived_at IS NULL;
CREATE INDEX tasks_project_history ON tasks (project, archived_at DESC, id DESC) WHERE project <> '' AND archived_at IS NOT NULL;

CREATE TABLE results (
  id         bigint PRIMARY KEY DEFAULT next_id('results'),
  task_id    bigint NOT NULL REFERENCES tasks (id),
  number     bigint NOT NULL CHECK (number >= 1),
  run_id     bigint REFERENCES runs (id),
  author     text COLLATE "C" NOT NULL,
  summary    text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(summary) <= 65536),
  resources  text COLLATE "C" NOT NULL DEFAULT '[]',
  project    text COLLATE "C" NOT NULL,
  branch     text COLLATE "C" NOT NULL DEFAULT '',
  base       text COLLATE "C" NOT NULL DEFAULT '',
  head       text COLLATE "C" NOT NULL DEFAULT '',
  patch      text COLLATE "C" NOT NULL DEFAULT '',
  digest     text COLLATE "C" NOT NULL CHECK (octet_length(digest) = 64),
  policy     text COLLATE "C" NOT NULL,
  flags      text COLLATE "C" NOT NULL DEFAULT '[]',
  state      text COLLATE "C" NOT NULL CHECK (state IN ('review', 'accepted', 'changes_requested', 'superseded', 'merged', 'done', 'canceled')),
  reminded   bigint NOT NULL DEFAULT 0, -- when its reviewers were reminded
  created_at bigint NOT NULL,
  UNIQUE (task_id, number)
);
CREATE INDEX results_review ON results (id) WHERE state = 'review';

CREATE TABLE check_runs (
  id         bigint PRIMARY KEY DEFAULT next_id('check_runs'),
  task_id    bigint NOT NULL REFERENCES tasks (id),
  result_id  bigint REFERENCES results (id),
  run_id     bigint REFERENCES runs (id), -- whose completion asked for it
  name       text COLLATE "C" NOT NULL,
  command    text COLLATE "C" NOT NULL DEFAULT '',
  required   bigint NOT NULL CHECK (required IN (0, 1)),
  commit_id  text COLLATE "C" NOT NULL DEFAULT '',
  verdict    text COLLATE "C" NOT NULL CHECK (verdict IN ('passed', 'failed', 'timed_out', 'not_run')),
  exit_code  bigint NOT NULL DEFAULT 0,
  reason     text COLLATE "C" NOT NULL DEFAULT '',
  millis     bigint NOT NULL DEFAULT 0,
  log        text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(log) <= 300000),
  log_hash   text COLLATE "C" NOT NULL DEFAULT '',
  level      text COLLATE "C" NOT NULL DEFAULT '',
  merge      bigint NOT NULL DEFAULT 0 CHECK (merge IN (0, 1)),
  created_at bigint NOT NULL
, asked_by text COLLATE "C" NOT NULL DEFAULT '');
CREATE INDEX check_runs_task ON check_runs (task_id, id);
CREATE INDEX check_runs_result ON check_runs (result_id, id) WHERE result_id IS NOT NULL;
CREATE INDEX check_runs_run ON check_runs (run_id, id) WHERE run_id IS NOT NULL;

CREATE TABLE votes (
  task_id bigint NOT NULL REFERENCES tasks (id),
  digest  text COLLATE "C" NOT NULL,
  person  text COLLATE "C" NOT NULL,
  accept  bigint NOT NULL CHECK (accept IN (0, 1)),
  text    text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(text) <= 65536),
  at      bigint NOT NULL,
  role text COLLATE "C" NOT NULL DEFAULT '' CHECK (role IN ('', 'reviewer', 'admin')),
  PRIMARY KEY (task_id, digest, person)
);

CREATE TABLE review_comments (
  id           bigint PRIMARY KEY DEFAULT next_id('review_comments'),
  task_id      bigint NOT NULL REFERENCES tasks (id),
  result_id    bigint NOT NULL REFERENCES results (id),
  author       text COLLATE "C" NOT NULL,
  path         text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(path) <= 4096),
  side         text COLLATE "C" NOT NULL DEFAULT '' CHECK (side IN ('', 'old', 'new')),
  line         bigint NOT NULL DEFAULT 0 CHECK (line >= 0),
  end_line     bigint NOT NULL DEFAULT 0 CHECK (end_line >= line),
  excerpt      text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(excerpt) <= 65536),
  text         text COLLATE "C" NOT NULL CHECK (octet_length(text) <= 65536),
  state        text COLLATE "C" NOT NULL CHECK (state IN ('draft', 'open', 'fixed', 'declined', 'resolved')),
  created_at   bigint NOT NULL,
  submitted_at bigint
);
CREATE INDEX review_comments_task ON review_comments (task_id, id);

CREATE TABLE review_replies (
  id         bigint PRIMARY KEY DEFAULT next_id('review_replies'),
  comment_id bigint NOT NULL REFERENCES review_comments (id),
  author     text COLLATE "C" NOT NULL,
  state      text COLLATE "C" NOT NULL DEFAULT '' CHECK (state IN ('', 'open', 'fixed', 'declined', 'resolved')),
  text       text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(text) <= 65536),
  created_at bigint NOT NULL
);
CREATE INDEX review_replies_comment ON review_replies (comment_id, id);

CREATE TABLE viewed_files (
  task_id bigint NOT NULL REFERENCES tasks (id),
  person  text COLLATE "C" NOT NULL,
  path    text COLLATE "C" NOT NULL CHECK (octet_length(path) <= 4096),
  mark    text COLLATE "C" NOT NULL, -- the file's change, as the page has shown it
  at      bigint NOT NULL,
  PRIMARY KEY (task_id, person, path)
);

CREATE TABLE merges (
  id         bigint PRIMARY KEY DEFAULT next_id('merges'),
  task_id    bigint NOT NULL REFERENCES tasks (id),
  result_id  bigint NOT NULL REFERENCES results (id),
  project    text COLLATE "C" NOT NULL,
  repository text COLLATE "C" NOT NULL,
  target     text COLLATE "C" NOT NULL,
  state      text COLLATE "C" NOT NULL CHECK (state IN ('queued', 'running', 'waiting', 'merged', 'failed', 'canceled')),
  code       text COLLATE "C" NOT NULL DEFAULT '',
  reason     text COLLATE "C" NOT NULL DEFAULT '',
  head_before text COLLATE "C" NOT NULL DEFAULT '',
  head_after text COLLATE "C" NOT NULL DEFAULT '',
  not_before bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  started_at bigint,
  ended_at   bigint,
  branch_gone bigint NOT NULL DEFAULT 0 CHECK (branch_gone IN (0, 1)),
  CHECK ((ended_at IS NOT NULL) = (state IN ('merged', 'failed', 'canceled')))
);
CREATE UNIQUE INDEX merges_open ON merges (task_id) WHERE ended_at IS NULL;
CREATE INDEX merges_queue ON merges (id) WHERE ended_at IS NULL;
CREATE INDEX merges_task ON merges (task_id, id);
CREATE INDEX merges_project ON merges (project, id DESC);
CREATE INDEX merges_branches ON merges (ended_at) WHERE state = 'merged' AND branch_gone = 0;

CREATE TABLE snoozes (
  user_id bigint NOT NULL,
  kind    text COLLATE "C" NOT NULL CHECK (kind IN ('question', 'approval', 'permission', 'review', 'stuck', 'lost', 'notice')),
  ref     bigint NOT NULL,
  mark    bigint NOT NULL,
  task_id bigint NOT NULL REFERENCES tasks (id),
  until   bigint NOT NULL,
  PRIMARY KEY (user_id, kind, ref)
);
CREATE INDEX snoozes_until ON snoozes (until);

CREATE TABLE run_messages (
  id           bigint PRIMARY KEY DEFAULT next_id('run_messages'),
  run_id       bigint NOT NULL REFERENCES runs (id),
  author       text COLLATE "C" NOT NULL,
  text         text COLLATE "C" NOT NULL CHECK (octet_length(text) BETWEEN 1 AND 65536),
  created_at   bigint NOT NULL,
  delivered_at bigint
);
CREATE INDEX run_messages_run ON run_messages (run_id, id);
CREATE INDEX tokens_user ON tokens (user_id, id) WHERE user_id IS NOT NULL;

CREATE TABLE open_texts (
  task_id     bigint PRIMARY KEY,
  title       text NOT NULL COLLATE nocase,
  description text COLLATE "C" NOT NULL
);
CREATE INDEX open_texts_title ON open_texts (title, task_id);

CREATE TABLE result_files (
  project   text COLLATE "C" NOT NULL,
  path      text COLLATE "C" NOT NULL CHECK (path <> ''),
  result_id bigint NOT NULL REFERENCES results (id),
  PRIMARY KEY (project, path, result_id)
);
CREATE INDEX result_files_result ON result_files (result_id, path);

CREATE TABLE stats_hours (
  hour       bigint NOT NULL,
  agent      text COLLATE "C" NOT NULL,
  model      text COLLATE "C" NOT NULL,
  what       text COLLATE "C" NOT NULL CHECK (what IN ('created', 'done', 'canceled', 'asked', 'run.completed', 'run.failed', 'run.canceled')),
  project    text COLLATE "C" NOT NULL DEFAULT '',
  n          bigint NOT NULL,
  millis     bigint NOT NULL DEFAULT 0,
  tokens_in  bigint NOT NULL DEFAULT 0,
  tokens_out bigint NOT NULL DEFAULT 0,
  cost_usd   double precision NOT NULL DEFAULT 0,
  estimated  bigint NOT NULL DEFAULT 0, -- 1: tokens or cost are, in part
  PRIMARY KEY (hour, agent, model, what, project)
);

CREATE TABLE open_times (
  task_id    bigint PRIMARY KEY,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE INDEX open_times_created ON open_times (created_at, task_id);
CREATE INDEX open_times_updated ON open_times (updated_at, task_id);
CREATE INDEX tasks_claimable ON tasks (owner, resumes DESC, priority DESC, created_at, id)
  WHERE status = 'active' AND claim_holder IS NULL AND question_id IS NULL AND run_id IS NULL AND blocked = 0 AND awaits = '';
CREATE INDEX tasks_open ON tasks (priority DESC, created_at, id) WHERE archived_at IS NULL;
CREATE INDEX tasks_owner ON tasks (owner, priority DESC, created_at, id) WHERE archived_at IS NULL;
CREATE INDEX tasks_draft ON tasks (priority DESC, created_at, id, owner) WHERE status = 'draft' AND archived_at IS NULL;
CREATE INDEX tasks_blocked ON tasks (priority DESC, created_at, id, owner) WHERE blocked > 0 AND archived_at IS NULL;
CREATE INDEX tasks_failed ON tasks (priority DESC, created_at, id, owner) WHERE failures > 0 AND archived_at IS NULL;
CREATE INDEX tasks_held_up ON tasks (priority DESC, created_at, id, owner)
  WHERE archived_at IS NULL AND status = 'active'
  AND (question_id IS NOT NULL OR blockers_canceled > 0 OR run_id IS NOT NULL OR awaits <> '');
CREATE INDEX tasks_project ON tasks (project, priority DESC, created_at, id) WHERE project <> '' AND archived_at IS NULL;

CREATE TABLE open_labels (
  label      text COLLATE "C" NOT NULL,
  priority   bigint NOT NULL,
  created_at bigint NOT NULL, -- of the task
  task_id    bigint NOT NULL REFERENCES tasks (id),
  PRIMARY KEY (label, priority, created_at, task_id)
);

-- Full text: the words of archived tasks, of the parts of long ones and of the
-- lines of transcripts, and those of open tasks. Written in the background.
CREATE TABLE search (docid bigint PRIMARY KEY, words tsvector NOT NULL);
CREATE INDEX search_words ON search USING gin (words);
CREATE TABLE search_parts (docid bigint PRIMARY KEY, words tsvector NOT NULL);
CREATE INDEX search_parts_words ON search_parts USING gin (words);
CREATE TABLE search_lines (docid bigint PRIMARY KEY, words tsvector NOT NULL);
CREATE INDEX search_lines_words ON search_lines USING gin (words);
CREATE TABLE open_search (docid bigint PRIMARY KEY, words tsvector NOT NULL);
CREATE INDEX open_search_words ON open_search USING gin (words);

-- The words of the execution model, over the same rows.
CREATE VIEW task_executions AS
SELECT r.id, coalesce((SELECT p.task_id FROM runs p WHERE p.id = r.parent_run), t.parent_id, r.task_id) AS conversation_id,
       r.agent AS agent_type, CASE t.description WHEN '' THEN t.title ELSE t.description END AS task_description,
       r.model, r.status, r.phase,
       to_char(to_timestamp(r.started_at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS started_at,
       to_char(to_timestamp(r.ended_at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS completed_at,
       coalesce(json_extract(r.usage, '$.tokensIn')::bigint, 0) + coalesce(json_extract(r.usage, '$.tokensOut')::bigint, 0) AS tokens_used,
       r.summary AS result_summary
FROM runs r JOIN tasks t ON t.id = r.task_id;
CREATE VIEW task_messages AS
SELECT id, run_id AS task_execution_id, role, content,
       to_char(to_timestamp(created_at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at
FROM messages WHERE run_id IS NOT NULL;

-- What must not change. The argument says why.
-- +goose StatementBegin
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'check_violation'; END
$$;
-- +goose StatementEnd
-- Refuses a change of what belongs to an archived task.
-- +goose StatementBegin
CREATE FUNCTION refuse_history() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE of bigint := CASE TG_OP WHEN 'INSERT' THEN new.task_id ELSE old.task_id END;
BEGIN
  IF (SELECT archived_at FROM tasks WHERE id = of) IS NOT NULL THEN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'check_violation';
  END IF;
  RETURN CASE TG_OP WHEN 'DELETE' THEN old ELSE new END;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER tasks_immutable BEFORE UPDATE ON tasks FOR EACH ROW
WHEN (old.archived_at IS NOT NULL) EXECUTE FUNCTION refuse('history is immutable');
CREATE TRIGGER tasks_origin BEFORE UPDATE OF id, created_by, created_at, parent_id, nesting, channel ON tasks FOR EACH ROW
WHEN (new.id <> old.id OR new.created_by <> old.created_by OR new.created_at <> old.created_at
  OR new.parent_id IS DISTINCT FROM old.parent_id OR new.nesting <> old.nesting OR new.channel <> old.channel) EXECUTE FUNCTION refuse('the origin of a task is immutable');
CREATE TRIGGER tasks_kept BEFORE DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION refuse('tasks are kept for ever');
CREATE TRIGGER steps_insert BEFORE INSERT ON steps FOR EACH ROW EXECUTE FUNCTION refuse_history('history is immutable');
CREATE TRIGGER steps_update BEFORE UPDATE ON steps FOR EACH ROW EXECUTE FUNCTION refuse_history('history is immutable');
CREATE TRIGGER steps_linked BEFORE DELETE ON steps FOR EACH ROW
WHEN (old.subtask_id IS NOT NULL) EXECUTE FUNCTION refuse('history is immutable and linked steps stay');
CREATE TRIGGER steps_delete BEFORE DELETE ON steps FOR EACH ROW EXECUTE FUNCTION refuse_history('history is immutable and linked steps stay');
CREATE TRIGGER resources_insert BEFORE INSERT ON resources FOR EACH ROW EXECUTE FUNCTION refuse_history('history is immutable');
CREATE TRIGGER resources_update BEFORE UPDATE ON resources FOR EACH ROW EXECUTE FUNCTION refuse_history('history is immutable');
CREATE TRIGGER resources_delete BEFORE DELETE ON resources FOR EACH ROW EXECUTE FUNCTION refuse_history('history is immutable');
-- +goose StatementBegin
CREATE FUNCTION messages_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT archived_at FROM tasks WHERE id = new.task_id) IS NOT NULL
    AND (new.run_id IS NULL OR (SELECT status FROM runs WHERE id = new.run_id) NOT IN ('pending', 'running')) THEN
    RAISE EXCEPTION 'history is immutable' USING ERRCODE = 'check_violation';
  END IF;
  RETURN new;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER messages_insert BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION messages_insert();
CREATE TRIGGER messages_update BEFORE UPDATE ON messages FOR EACH ROW EXECUTE FUNCTION refuse('messages are immutable');
CREATE TRIGGER messages_comment BEFORE DELETE ON messages FOR EACH ROW
WHEN (old.run_id IS NULL) EXECUTE FUNCTION refuse('messages are kept');
-- +goose StatementBegin
CREATE FUNCTION messages_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT status FROM runs WHERE id = old.run_id) IN ('pending', 'running') THEN
    RAISE EXCEPTION 'messages are kept' USING ERRCODE = 'check_violation';
  END IF;
  RETURN old;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER messages_delete BEFORE DELETE ON messages FOR EACH ROW EXECUTE FUNCTION messages_delete();
CREATE TRIGGER runs_kept BEFORE DELETE ON runs FOR EACH ROW EXECUTE FUNCTION refuse('runs are kept for ever');
CREATE TRIGGER runs_final BEFORE UPDATE ON runs FOR EACH ROW
WHEN (old.ended_at IS NOT NULL) EXECUTE FUNCTION refuse('a run that ended is final');
CREATE TRIGGER events_update BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION refuse('the log is append-only');
CREATE TRIGGER events_delete BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION refuse('the log is append-only');
CREATE TRIGGER blockers_insert BEFORE INSERT ON blockers FOR EACH ROW EXECUTE FUNCTION refuse_history('history is immutable');
CREATE TRIGGER blockers_update BEFORE UPDATE ON blockers FOR EACH ROW EXECUTE FUNCTION refuse('blockers are added and removed');
CREATE TRIGGER blockers_delete BEFORE DELETE ON blockers FOR EACH ROW EXECUTE FUNCTION refuse_history('history is immutable');
CREATE TRIGGER permissions_final BEFORE UPDATE ON permissions FOR EACH ROW
WHEN (old.decision <> '' OR new.run_id <> old.run_id OR new.n <> old.n OR new.tool <> old.tool
  OR new.input <> old.input OR new.asked_at <> old.asked_at) EXECUTE FUNCTION refuse('a permission is decided once');
CREATE TRIGGER permissions_kept BEFORE DELETE ON permissions FOR EACH ROW EXECUTE FUNCTION refuse('permissions are kept for ever');
CREATE TRIGGER results_immutable BEFORE UPDATE OF id, task_id, number, run_id, author, summary, resources, project, branch, base, head,
  patch, digest, policy, flags, created_at ON results FOR EACH ROW EXECUTE FUNCTION refuse('results are immutable');
CREATE TRIGGER results_final BEFORE UPDATE OF state ON results FOR EACH ROW
WHEN (old.state IN ('superseded', 'merged', 'done', 'canceled') AND new.state <> old.state) EXECUTE FUNCTION refuse('a result that has ended is final');
CREATE TRIGGER results_kept BEFORE DELETE ON results FOR EACH ROW EXECUTE FUNCTION refuse('results are kept for ever');
CREATE TRIGGER check_runs_immutable BEFORE UPDATE ON check_runs FOR EACH ROW EXECUTE FUNCTION refuse('what a check found is immutable');
-- +goose StatementBegin
CREATE FUNCTION tasks_proven() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM results WHERE task_id = new.id AND state IN ('merged', 'done'))
    AND NOT EXISTS (SELECT 1 FROM task_bounds WHERE task_id = new.id AND parent_run <> 0) THEN
    RAISE EXCEPTION 'a task of a project is done with its result' USING ERRCODE = 'check_violation';
  END IF;
  RETURN new;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER tasks_proven BEFORE UPDATE OF status ON tasks FOR EACH ROW
WHEN (new.status = 'done' AND old.status <> 'done' AND (old.project <> '' OR new.project <> '' OR old.demands <> ''))
EXECUTE FUNCTION tasks_proven();
-- +goose StatementBegin
CREATE FUNCTION results_closed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN DELETE FROM result_files WHERE result_id = new.id; RETURN NULL; END
$$;
-- +goose StatementEnd
CREATE TRIGGER results_closed AFTER UPDATE OF state ON results FOR EACH ROW
WHEN (new.state NOT IN ('review', 'accepted')) EXECUTE FUNCTION results_closed();
-- +goose StatementBegin
CREATE FUNCTION tasks_labels() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO history_labels (label, archived_at, task_id)
  SELECT DISTINCT label, new.archived_at, new.id FROM unnest(string_to_array(new.labels, ' ')) label ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER tasks_labels AFTER UPDATE OF archived_at ON tasks FOR EACH ROW
WHEN (new.archived_at IS NOT NULL AND new.labels <> '') EXECUTE FUNCTION tasks_labels();
-- +goose StatementBegin
CREATE FUNCTION tasks_open_labels() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM open_labels WHERE task_id = old.id AND priority = old.priority AND created_at = old.created_at
   AND label = ANY (string_to_array(old.labels, ' '));
  INSERT INTO open_labels (label, priority, created_at, task_id)
  SELECT DISTINCT label, new.priority, new.created_at, new.id FROM unnest(string_to_array(new.labels, ' ')) label
  WHERE new.archived_at IS NULL ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER tasks_open_labels AFTER UPDATE OF labels, priority, archived_at ON tasks FOR EACH ROW
WHEN (old.labels || new.labels <> ''
 AND (old.labels <> new.labels OR old.priority <> new.priority OR (old.archived_at IS NULL) <> (new.archived_at IS NULL)))
EXECUTE FUNCTION tasks_open_labels();
