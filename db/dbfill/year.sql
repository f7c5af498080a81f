-- An instance of a year, out of two temporary tables: size holds its bounds, phrase
-- the words. mix() is a number that looks as if by chance, the same each time.

-- History: tasks end evenly through the year, one in ten was canceled, three of
-- ten are subtasks of the one that began the ten.
INSERT INTO tasks (id, title, owner, created_by, status, priority, version, parent_id, nesting, labels, created_at, updated_at, archived_at, description, summary)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n, size WHERE i < archived)
SELECT i, word('verb', i * 7) || ' ' || word('thing', mix(i)) || CASE i % 4 WHEN 0 THEN ' for ' || word('who', mix(i) / 3) ELSE '' END,
 word('agent', mix(i) / 7), CASE i % 10 WHEN 8 THEN word('agent', i) ELSE 'user:' || word('person', i) END, iif(i % 10 = 3, 'canceled', 'done'),
 mix(i) % 11, 5 + i % 9, iif(i % 10 > 6, i - i % 10 + 1, NULL), i % 10 > 6, iif(i % 3 = 0, min(word('label', i) || '-' || (i % 7), word('label', i + 1)) || ' ' || max(word('label', i) || '-' || (i % 7), word('label', i + 1)), ''),
 at - 600000 - mix(i) % 172800000, at, at,
 word('sentence', i) || ' ' || word('sentence', mix(i)) || char(10, 10) || '- ' || word('sentence', mix(i) / 11) || char(10) || '- ' || word('sentence', mix(i) / 13) || iif(i % 50000 = 7, ' quokka', ''),
 word('sentence', i * 3) || ' ' || word('sentence', mix(i) / 17)
FROM (SELECT i, now - 31536000000 + 31536000000 / archived * i AS at FROM n, size);

-- Open: one in twenty a draft; one in forty is worked on, asks, or failed; one
-- in twelve is blocked. Those that wait for approval, and the runs, come below.
INSERT INTO tasks (id, title, owner, created_by, status, priority, version, labels, failures, claim_seq, claim_holder, claim_since, claim_expires, created_at, updated_at, description)
WITH RECURSIVE n (i) AS (SELECT archived + 1 FROM size UNION ALL SELECT i + 1 FROM n, size WHERE i < archived + open)
SELECT i, word('verb', i * 7) || ' ' || word('thing', mix(i)) || CASE i % 4 WHEN 0 THEN ' for ' || word('who', mix(i) / 3) ELSE '' END,
 word('agent', mix(i) / 7), 'user:' || word('person', i), iif(i % 20 = 1, 'draft', 'active'), mix(i) % 11, 1 + i % 5,
 iif(i % 3 = 0, min(word('label', i) || '-' || (i % 7), word('label', i + 1)) || ' ' || max(word('label', i) || '-' || (i % 7), word('label', i + 1)), ''), iif(i % 40 = 2, 3, 0), i % 40 = 3,
 iif(i % 40 = 3, word('agent', mix(i) / 7), NULL), iif(i % 40 = 3, now - 600000, NULL), iif(i % 40 = 3, now + 86400000, NULL),
 now - 3600000 - mix(i) % 5184000000, now - mix(i) % 3600000,
 word('sentence', i) || ' ' || word('sentence', mix(i)) || char(10, 10) || '- ' || word('sentence', mix(i) / 11) || char(10) || '- ' || word('sentence', mix(i) / 13)
FROM n, size;

-- One task has a thousand subtasks and as much of everything as fits.
INSERT INTO tasks (id, title, owner, created_by, status, priority, version, created_at, updated_at, description)
SELECT archived + open + 1, 'Bring the whole yard to version 2', word('agent', 0), 'user:' || word('person', 0), 'active', 10, 900, now - 864000000, now - 60000, word('sentence', 1) FROM size;
INSERT INTO tasks (id, title, owner, created_by, status, priority, parent_id, nesting, created_at, updated_at, archived_at, description)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n, size WHERE i < subtasks)
SELECT archived + open + 1 + i, word('verb', i) || ' ' || word('thing', mix(i)), word('agent', i), word('agent', 0), iif(i % 3 = 0, 'done', 'active'), i % 11,
 archived + open + 1, 1, now - 864000000 + i * 1000, now - i * 1000, iif(i % 3 = 0, now - i * 1000, NULL), word('sentence', i)
FROM n, size;

INSERT INTO steps (task_id, position, title, details, done)
SELECT t.id, s.value, substr(word('verb', t.id + s.value) || ' ' || word('thing', mix(t.id) + s.value), 1, 60), iif(s.value = 1, word('sentence', t.id), ''), t.archived_at IS NOT NULL OR s.value < t.id % 3
FROM tasks t, json_each('[0,1,2,3,4]') s, size WHERE s.value < t.id % 6 AND t.id <= archived + open;
INSERT INTO steps (task_id, position, title, done, subtask_id)
SELECT t.parent_id, t.id - archived - open - 2, substr(t.title, 1, 60), t.archived_at IS NOT NULL, t.id FROM tasks t, size WHERE t.id BETWEEN archived + open + 2 AND archived + open + 201;

INSERT INTO resources (task_id, position, type, value, label)
SELECT t.id, r.value, iif(r.value = 0, 'url', 'file'), iif(r.value = 0, 'https://example.com/pull/' || t.id, '/srv/handbook/' || word('label', t.id) || '.md'), word('thing', mix(t.id) + r.value)
FROM tasks t, json_each('[0,1]') r, size WHERE r.value < t.id % 3 AND t.id <= archived + open;

INSERT INTO messages (task_id, kind, author, content, created_at)
SELECT t.id, iif(m.value = 2, 'handoff', 'comment'), CASE m.value % 2 WHEN 0 THEN 'user:' || word('person', t.id + m.value) ELSE t.owner END,
 word('sentence', mix(t.id) + m.value) || ' ' || word('sentence', t.id * 3 + m.value), t.created_at + (m.value + 1) * 100000
FROM tasks t, json_each('[0,1,2,3,4]') m, size WHERE m.value < mix(t.id) % 6 AND t.id <= archived + open;
INSERT INTO messages (task_id, kind, author, content, created_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n, size WHERE i < comments)
SELECT archived + open + 1, 'comment', iif(i % 2, 'user:' || word('person', i), word('agent', i)), word('sentence', i) || ' ' || word('sentence', mix(i)) || ' See #' || i || '.', now - 800000000 + i * 1000 FROM n, size;
INSERT INTO messages (task_id, kind, author, content, created_at)
SELECT id, 'question', owner, word('sentence', id) || ' ' || word('sentence', mix(id)) || ' Is that right?', now - mix(id) % 86400000 FROM tasks, size WHERE id BETWEEN archived + 1 AND archived + open AND status = 'active' AND id % 40 = 4;
UPDATE tasks SET question_id = (SELECT max(m.id) FROM messages m WHERE m.task_id = tasks.id AND m.kind = 'question') WHERE archived_at IS NULL AND status = 'active' AND id % 40 = 4 AND id <= (SELECT archived + open FROM size);
INSERT INTO messages (task_id, kind, author, content, created_at)
SELECT id, 'notice', owner, word('sentence', id * 5) || ' ' || word('sentence', mix(id)), now - mix(id) % 86400000 FROM tasks, size WHERE id BETWEEN archived + 1 AND archived + open AND id % 40 = 9;
INSERT INTO notices (message_id, task_id) SELECT id, task_id FROM messages WHERE kind = 'notice';

INSERT INTO blockers (task_id, blocker_id)
SELECT id, id - 1 FROM tasks, size WHERE id BETWEEN archived + 13 AND archived + open AND status = 'active' AND id % 12 = 5
UNION ALL SELECT id, id - 6 FROM tasks, size WHERE id BETWEEN archived + 13 AND archived + open AND status = 'active' AND id % 24 = 5
UNION ALL SELECT archived + open + 1, archived + value FROM json_each('[1,2,3,5,6,7,8,9,10]'), size
UNION ALL SELECT archived + value, archived + open + 1 FROM json_each('[13,15,17,19,25,27,33]'), size;
UPDATE tasks SET blocked = (SELECT count(*) FROM blockers WHERE task_id = tasks.id) WHERE archived_at IS NULL;

-- Runs: each task of history had one or two, of which one in eight failed.
INSERT INTO definitions (hash, agent, text, first_seen) SELECT 'hash-of-' || text, text, 'The definition of ' || text || ', as it was.', now - 31536000000 FROM phrase, size WHERE kind = 'agent';
INSERT INTO runs (task_id, agent, status, phase, cause, asked_by, attempt, reason, summary, artifacts, usage, limits, model, definition_hash, spec, spec_hash, decision, decided_by, decided_at, scope, created_at, started_at, heartbeat_at, ended_at)
SELECT id, owner, iif(failed, 'failed', 'completed'), iif(failed, 'error', 'ended'), CASE id % 4 WHEN 0 THEN 'manual' WHEN 1 THEN 'tick' WHEN 2 THEN 'wake' ELSE 'delegate' END,
 iif(id % 4 = 0, 'user:' || word('person', id), 'cron'), 1 + k, iif(failed, 'exit code 1: ' || word('sentence', id), ''), iif(failed, '', word('sentence', id * 3) || ' ' || word('sentence', mix(id))),
 iif(id % 3 = 0, '["report.md","out/result.json"]', '[]'), json_object('toolCalls', 3 + mix(id) % 40, 'tokensIn', 9000 + mix(id) % 90000, 'tokensOut', 400 + mix(id) % 6000, 'costUsd', (mix(id) % 900) / 1000.0),
 '{"timeoutSeconds":900,"idleTimeoutSeconds":120}', word('model', id), 'hash-of-' || owner, spec, 'v' || id, iif(id % 5 = 0, 'approved', ''), iif(id % 5 = 0, 'user:' || word('person', id), ''), iif(id % 5 = 0, begun, NULL), iif(id % 5 = 0, 'once', ''),
 begun - 30000, begun, begun + 60000, begun + 60000 + mix(id) % 600000
FROM (SELECT t.*, k.value AS k, t.id % 8 = 0 AND k.value = 0 AS failed, t.archived_at - 3000000 + k.value * 1200000 AS begun, s.spec FROM tasks t, json_each('[0,1]') k, size s WHERE t.id <= archived AND k.value <= (t.id % 8 = 0) AND t.id % 10 < 9)
ORDER BY begun;
INSERT INTO runs (task_id, agent, status, phase, cause, asked_by, attempt, reason, summary, usage, limits, model, definition_hash, spec, created_at, started_at, ended_at)
SELECT t.id, t.owner, 'failed', 'error', 'tick', 'cron', 1 + k.value, 'exit code 1: ' || word('sentence', t.id), '', '{"toolCalls":9,"tokensIn":31000,"tokensOut":900,"costUsd":0.2}', '{"timeoutSeconds":900}', word('model', t.id), 'hash-of-' || t.owner, s.spec,
 t.created_at + k.value * 1000000, t.created_at + k.value * 1000000, t.created_at + k.value * 1000000 + 300000
FROM tasks t, json_each('[0,1,2]') k, size s WHERE t.archived_at IS NULL AND t.failures > 0;
-- Three hundred of the one task; the last has the long transcript.
INSERT INTO runs (task_id, agent, status, phase, cause, asked_by, reason, summary, usage, limits, model, definition_hash, spec, created_at, started_at, ended_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
SELECT archived + open + 1, word('agent', 0), iif(i % 5 <> 1, 'completed', 'failed'), iif(i % 5 <> 1, 'ended', 'error'), 'wake', 'system', iif(i % 5 <> 1, '', 'exit code 1'), word('sentence', i), '{"toolCalls":9,"tokensIn":31000,"tokensOut":900,"costUsd":0.2}', '{"timeoutSeconds":900}', word('model', i), 'hash-of-' || word('agent', 0), spec,
 now - 86400000 + i * 100000, now - 86400000 + i * 100000, now - 86340000 + i * 100000 FROM n, size;
-- What waits for approval, is queued, or runs by the hand of a worker.
INSERT INTO runs (task_id, agent, status, phase, cause, asked_by, limits, model, definition_hash, spec, spec_hash, approval_expires, lease, lease_expires, worker, created_at, started_at, heartbeat_at)
SELECT id, owner, CASE kind WHEN 'running' THEN 'running' ELSE 'pending' END, CASE kind WHEN 'running' THEN 'working' ELSE kind END, iif(id % 2, 'tick', 'manual'), iif(id % 2, 'cron', 'user:' || word('person', id)),
 '{"timeoutSeconds":900,"idleTimeoutSeconds":120,"maxTokens":200000}', word('model', id), 'hash-of-' || owner, spec, 'v' || id, iif(kind = 'approval', now + 3600000 + mix(id) % 80000000, NULL),
 kind = 'running', iif(kind = 'running', now + 86400000, NULL), kind = 'running', now - mix(id) % 3600000, iif(kind = 'running', now - 300000, NULL), iif(kind = 'running', now - 5000, NULL)
FROM (SELECT t.*, s.*, iif(t.id % 40 = 3 AND t.id % 240 = 3, 'running', iif(t.id % 40 = 5, 'queued', iif(t.id % 10 = 6 AND t.id - archived <= approvals * 10, 'approval', ''))) AS kind FROM tasks t, size s WHERE t.id BETWEEN archived + 1 AND archived + open AND t.status = 'active' AND t.blocked = 0) WHERE kind <> '';
UPDATE tasks SET run_id = (SELECT r.id FROM runs r WHERE r.task_id = tasks.id AND r.status IN ('pending', 'running')) WHERE archived_at IS NULL;
INSERT INTO permissions (run_id, n, tool, input, reason, asked_at, expires_at, decision, scope, decided_by, decided_at)
SELECT id, 1, 'bash', '{"command":"make deploy","description":"Bring it to the servers"}', 'It leaves the workspace.', created_at, created_at + 900000, iif(id % 3, 'allowed', 'denied'), 'once', 'user:' || word('person', id), created_at + 60000 FROM runs WHERE ended_at IS NOT NULL AND id % 20 = 0;

-- Transcripts are kept for ninety days.
INSERT INTO messages (task_id, run_id, kind, role, type, author, content, data, created_at)
SELECT r.task_id, r.id, 'run', CASE m.value % 3 WHEN 2 THEN 'tool' ELSE 'assistant' END, CASE m.value % 3 WHEN 0 THEN 'text' WHEN 1 THEN 'tool_call' ELSE 'tool_result' END, r.agent,
 CASE m.value % 3 WHEN 1 THEN 'read' ELSE word('sentence', r.id + m.value) END, CASE m.value % 3 WHEN 0 THEN NULL ELSE '{"tool":"read","id":"' || m.value / 3 || '","args":{"path":"main.go"}}' END, r.started_at + m.value * 1000
FROM runs r, json_each('[0,1,2,3,4,5,6,7,8,9,10,11]') m, size WHERE r.started_at > now - 7776000000;
INSERT INTO messages (task_id, run_id, kind, role, type, author, content, data, created_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n, size WHERE i < lines)
SELECT r.task_id, r.id, 'run', CASE i % 3 WHEN 2 THEN 'tool' ELSE 'assistant' END, CASE i % 3 WHEN 0 THEN 'text' WHEN 1 THEN 'tool_call' ELSE 'tool_result' END, r.agent,
 CASE i % 3 WHEN 1 THEN 'bash' WHEN 2 THEN word('sentence', i) || char(10) || word('sentence', mix(i)) || char(10) || 'line ' || i ELSE word('sentence', i) END,
 CASE i % 3 WHEN 0 THEN NULL ELSE '{"tool":"bash","id":"' || (i + 2) / 3 || '","input":{"command":"go test ./part' || i || '"}}' END, r.started_at + i
FROM n, size, runs r WHERE r.id IN ((SELECT max(id) FROM runs WHERE task_id = archived + open + 1), (SELECT max(id) FROM runs WHERE status = 'running'));
INSERT INTO run_work (run_id, total, note, repository, branch, folder)
SELECT id, 3, '', '/srv/repos/yard', 'taskyard/run-' || id, '' FROM runs, size WHERE status = 'completed' AND (id % 5 = 0 OR task_id = archived + open + 1);
INSERT INTO run_files (run_id, n, path, change, added, removed, note, diff)
SELECT w.run_id, f.value, 'internal/part' || f.value || '/file.go', CASE f.value WHEN 1 THEN 'added' ELSE 'modified' END, 1, f.value > 1, '', iif(f.value = 1, '@@ -0,0 +1 @@' || char(10) || '+package part' || char(10), '@@ -1 +1 @@' || char(10) || '-old' || char(10) || '+new' || char(10))
FROM run_work w, json_each('[1,2,3]') f;

-- The log, in the order of its tasks.
INSERT INTO events (at, actor, kind, task_id, run_id, agent, changes, hash)
SELECT t.created_at + e.key * 1000, iif(e.key = 0, t.created_by, t.owner), e.value, t.id, NULL, t.owner, CASE e.value WHEN 'task.created' THEN '{"title":"as it was"}' WHEN 'task.step_updated' THEN '{"step":1,"done":true}' ELSE '' END, zeroblob(32)
FROM tasks t, json_each('["task.created","task.claimed","task.step_updated","task.step_updated","task.commented","task.released","task.claimed","task.completed"]') e
WHERE t.archived_at IS NOT NULL OR e.key < 1 + t.id % 5 ORDER BY t.id, e.key;
INSERT INTO events (at, actor, kind, task_id, run_id, agent, changes, hash)
SELECT r.created_at, r.agent, CASE r.status WHEN 'completed' THEN 'run.completed' WHEN 'failed' THEN 'run.failed' ELSE 'run.created' END, r.task_id, r.id, r.agent, '', zeroblob(32) FROM runs r ORDER BY r.id;
INSERT INTO events (at, actor, kind, task_id, agent, changes, hash)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n, size WHERE i < comments * 2)
SELECT now - 800000000 + i * 1000, iif(i % 2, 'user:' || word('person', i), word('agent', i)), iif(i % 2, 'task.commented', 'task.step_updated'), archived + open + 1, word('agent', 0), '', zeroblob(32) FROM n, size;

UPDATE events SET hash = chained(at, actor, kind, coalesce(task_id, 0), coalesce(run_id, 0), agent, changes);

INSERT INTO stats_hours (hour, agent, model, what, n)
SELECT created_at / 3600000 * 3600000 AS h, owner, '', 'created', count(*) FROM tasks GROUP BY h, owner
UNION ALL SELECT archived_at / 3600000 * 3600000 AS h, owner, '', status, count(*) FROM tasks WHERE archived_at IS NOT NULL GROUP BY h, owner, status;
INSERT INTO stats_hours (hour, agent, model, what, n, millis, tokens_in, tokens_out, cost_usd) SELECT ended_at / 3600000 * 3600000 AS h, agent, model, 'run.' || status, count(*), sum(ended_at - coalesce(started_at, ended_at)), sum(usage ->> 'tokensIn'), sum(usage ->> 'tokensOut'), sum(usage ->> 'costUsd') FROM runs WHERE ended_at IS NOT NULL GROUP BY h, agent, model, status;
INSERT INTO usage_days (day, agent, model, runs, tool_calls, tokens_in, tokens_out, cost_usd, estimated) SELECT ended_at / 86400000 * 86400000 AS d, agent, model, count(*), sum(usage ->> 'toolCalls'), sum(usage ->> 'tokensIn'), sum(usage ->> 'tokensOut'), sum(usage ->> 'costUsd'), 0 FROM runs WHERE ended_at IS NOT NULL GROUP BY d, agent, model;
INSERT INTO history_labels (label, archived_at, task_id) SELECT DISTINCT j.value, t.archived_at, t.id FROM tasks t, json_each('["' || replace(t.labels, ' ', '","') || '"]') j WHERE t.archived_at IS NOT NULL AND t.labels <> '';
INSERT INTO open_labels (label, priority, created_at, task_id) SELECT DISTINCT j.value, t.priority, t.created_at, t.id FROM tasks t, json_each('["' || replace(t.labels, ' ', '","') || '"]') j WHERE t.archived_at IS NULL AND t.labels <> '';
INSERT INTO task_counts (owner, status, n) SELECT owner, status, count(*) FROM tasks GROUP BY owner, status;
INSERT INTO depth_hours (hour, agent, queued, working, waiting)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
SELECT (now / 3600000 - n.i) * 3600000, text, mix(n.i) % 40, mix(n.i) % 4, mix(n.i) % 7 FROM n, size, (SELECT text FROM phrase WHERE kind = 'agent' UNION ALL SELECT '');

-- The clock, people, tokens, notes.
INSERT INTO ticks (at, cause, queued, skipped, ended)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT now - (1000 - i) * 3600000, 'cron', i % 9, open / 2, now - (1000 - i) * 3600000 + 90 FROM n, size;
INSERT INTO skips (task_id, tick_id, reason, detail)
SELECT id, 1000, CASE id % 3 WHEN 0 THEN 'claimed' WHEN 1 THEN 'queue_full' ELSE 'blocked' END, word('sentence', id) FROM tasks, size WHERE archived_at IS NULL AND status = 'active' AND id <= archived + open AND id % 2;
INSERT INTO users (name, role, password, created_at, last_seen_at) SELECT text, iif(i % 5, 'operator', 'reviewer'), 'none', now - 31536000000, now - i * 3600000 FROM phrase, size WHERE kind = 'person';
INSERT INTO tokens (hash, hint, name, scope, agent, created_by, created_at, used_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) SELECT randomblob(32), 'ty_' || i, 'laptop ' || i, iif(i = 1, 'worker', 'agent'), iif(i = 1, '', word('agent', i)), 'user:' || word('person', i), now - i * 86400000, now - i * 60000 FROM n, size;
INSERT INTO todos (agent, position, item)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n, size WHERE i < comments) SELECT text, n.i, word('sentence', n.i) FROM phrase, n WHERE kind = 'agent';
INSERT INTO jobs (name, last_at, took_ms, runs) SELECT value, now - 60000, 12, 8760 FROM json_each('["sweep","backup"]'), size;
