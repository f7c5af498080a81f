package db

import "taskyard/task"

// The bounds of what is searched of a transcript: of each line its first
// characters, and of a run its last lines, up to about so many bytes.
const (
	lineChars = 8 << 10
	runBytes  = 256 << 10
)

// indexBytes is about how much of transcripts one write indexes at most, so
// that other writes need not wait long for it.
const indexBytes = 128 << 10

// lineDoc is the docid of a line of a transcript in search_lines.
func lineDoc(id, message task.ID) int64 { return int64(id)<<32 | int64(message) }

// IndexedUpTo returns the last line of the log that the search has seen.
func (rx *Rx) IndexedUpTo() (task.ID, error) {
	var id task.ID
	_, err := optional(rx.row("SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'search_event'").Scan(&id))
	return id, err
}

// toIndex is a line of the log as the search sees it.
type toIndex struct {
	id, task, run task.ID
	kind          string
}

// IndexEvents brings the search up to date with up to limit lines of the log
// and tells whether more may be left.
func (tx *Tx) IndexEvents(limit int) (more bool, err error) {
	from, err := tx.IndexedUpTo()
	if err != nil {
		return false, err
	}
	rows, err := tx.query("SELECT id, coalesce(task_id, 0), coalesce(run_id, 0), kind FROM events WHERE id > ? ORDER BY id LIMIT ?", from, limit)
	list, err := collect(rows, err, func(r rowScanner) (e toIndex, err error) {
		return e, r.Scan(&e.id, &e.task, &e.run, &e.kind)
	})
	if err != nil || len(list) == 0 {
		return false, err
	}
	more = len(list) == limit
	seen, bytes := map[task.ID]bool{}, 0
	for i, e := range list {
		if e.task != 0 && changesText(e.kind) && !seen[e.task] {
			seen[e.task] = true
			if err := tx.indexTask(e.task); err != nil {
				return false, err
			}
		}
		from = e.id
		if e.run == 0 || !endsRun(e.kind) {
			continue
		}
		n, err := tx.indexRun(e.run)
		if err != nil {
			return false, err
		}
		if bytes += n; bytes >= indexBytes && i+1 < len(list) {
			more = true
			break
		}
	}
	return more, tx.SetSetting("search_event", from.String())
}

func changesText(kind string) bool {
	switch kind {
	case task.EvTaskClaimed, task.EvTaskReleased, task.EvClaimExpired, task.EvStepUpdated, task.EvStepAdded, task.EvStepRemoved, task.EvStepMoved, task.EvRunCreated, task.EvRunStarted:
		return false
	}
	return true
}

func endsRun(kind string) bool {
	switch kind {
	case task.EvRunCompleted, task.EvRunFailed, task.EvRunCanceled:
		return true
	}
	return false
}

func (tx *Tx) indexTask(id task.ID) error {
	return tx.do(`INSERT OR REPLACE INTO search (docid, title, body)
 SELECT t.id, t.title, t.description || char(10) || coalesce(t.summary, '') || char(10) ||
  coalesce((SELECT group_concat(content, char(10)) FROM messages WHERE task_id = t.id AND run_id IS NULL), '') || char(10) ||
  coalesce((SELECT group_concat(summary, char(10)) FROM runs WHERE task_id = t.id AND summary <> ''), '')
 FROM tasks t WHERE t.id = ?`, id)
}

// saidOf are the lines of a run that are searched, the last first, each with
// the bytes of those after it. Prompts repeat the task and the agent's
// definition, so that they would match for every run.
const saidOf = `SELECT id, task_id, text, sum(octet_length(text)) OVER (ORDER BY id DESC) - octet_length(text) AS after FROM (
 SELECT id, task_id, substr(content, 1, ?2) AS text FROM messages INDEXED BY messages_run WHERE run_id = ?1 AND type NOT IN ('prompt', 'usage') AND content <> '')`

// indexRun writes what was said in a run that ended into the search, and
// returns about how many bytes that was.
func (tx *Tx) indexRun(run task.ID) (bytes int, err error) {
	err = tx.do("INSERT OR REPLACE INTO search_lines (docid, content) SELECT (task_id << 32) | id, text FROM ("+saidOf+") WHERE after < ?3", run, lineChars, runBytes)
	if err != nil {
		return 0, err
	}
	err = tx.row("SELECT coalesce(sum(min(octet_length(content), ?2)), 0) FROM messages INDEXED BY messages_run WHERE run_id = ?1", run, lineChars).Scan(&bytes)
	return bytes, err
}
