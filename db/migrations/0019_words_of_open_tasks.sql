-- +goose Up
-- The texts of open tasks, for lists that a word narrows or a title sorts. They
-- are written in the background, as the search of archived tasks is: what
-- changed since is in the log, and lists look at the tasks of its last lines
-- themselves.
CREATE TABLE open_texts (
  task_id     INTEGER PRIMARY KEY,
  title       TEXT NOT NULL COLLATE NOCASE,
  description TEXT NOT NULL
) STRICT;
CREATE INDEX open_texts_title ON open_texts (title, task_id);
CREATE VIRTUAL TABLE open_search USING fts4 (content=open_texts, title, description, tokenize=unicode61, prefix='1,2');
INSERT INTO open_search (open_search) VALUES ('automerge=8');
