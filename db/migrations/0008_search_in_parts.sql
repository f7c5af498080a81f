-- +goose Up
-- Full text over tasks whose texts are too long for one write, in parts: docid
-- is the task times 2^32 plus the number of the part. Only archived tasks are
-- searched and their texts change no more, so open ones are not indexed: what
-- is there of them was written anew with each comment. The indexes merge what
-- is added bit by bit (automerge), not all at once.
CREATE VIRTUAL TABLE search_parts USING fts4 (content, tokenize=unicode61, order=desc, prefix='1,2,3');
DELETE FROM search WHERE docid IN (SELECT id FROM tasks WHERE archived_at IS NULL);
INSERT INTO search (search) VALUES ('automerge=8');
INSERT INTO search_lines (search_lines) VALUES ('automerge=8');
INSERT INTO search_parts (search_parts) VALUES ('automerge=8');
