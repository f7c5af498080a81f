package db

import (
	"strings"
	"time"
	"unicode"

	"taskyard/task"
)

// matchTerms turns what a person typed into an FTS4 expression: every word
// must occur, the last one may be the beginning of a word. "" means that no
// word is left.
func matchTerms(q string) string {
	words := strings.FieldsFunc(q, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) > 10 {
		words = words[:10]
	}
	for i, w := range words {
		words[i] = `"` + w + `"`
	}
	if n := len(words); n > 0 {
		w := strings.Trim(words[n-1], `"`)
		words[n-1] = `"` + w + `*"`
	}
	return strings.Join(words, " ")
}

// searchHistory walks the matches from the newest task backwards; the index
// gives them in that order, so a page costs the same in any yard.
func (rx *Rx) searchHistory(f task.HistoryFilter) ([]*task.Task, string, error) {
	terms := matchTerms(f.Query)
	if terms == "" {
		return []*task.Task{}, "", nil
	}
	before := int64(1<<62 - 1)
	if f.Before != "" {
		var err error
		if _, before, err = pair(f.Before); err != nil {
			return nil, "", task.FieldErrorf("before", "is not a cursor that this list gave")
		}
	}
	w := &where{}
	w.add("search MATCH ? AND s.docid < ?", terms, before)
	w.add("t.archived_at IS NOT NULL")
	historyWhere(w, f)
	ctx, cancel := bound(5 * time.Second)
	defer cancel()
	r := *rx
	r.ctx = ctx
	list, err := r.tasks("SELECT "+taskBrief+" FROM search s CROSS JOIN tasks t ON t.id = s.docid"+w.sql()+" ORDER BY s.docid DESC LIMIT ?", append(w.args, f.Limit+1)...)
	if err != nil || len(list) <= f.Limit {
		return list, "", err
	}
	return list[:f.Limit], "0." + list[f.Limit-1].ID.String(), nil
}

// IndexedUpTo returns the last line of the log that the search has seen.
func (rx *Rx) IndexedUpTo() (task.ID, error) {
	var id task.ID
	_, err := optional(rx.row("SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'search_event'").Scan(&id))
	return id, err
}

// IndexEvents brings the search up to date with up to limit lines of the log
// and tells whether more are left.
func (tx *Tx) IndexEvents(limit int) (more bool, err error) {
	from, err := tx.IndexedUpTo()
	if err != nil {
		return false, err
	}
	rows, err := tx.query("SELECT id, coalesce(task_id, 0), kind FROM events WHERE id > ? ORDER BY id LIMIT ?", from, limit)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	seen, n := map[task.ID]bool{}, 0
	for rows.Next() {
		var id, taskID task.ID
		var kind string
		if err := rows.Scan(&id, &taskID, &kind); err != nil {
			return false, err
		}
		n, from = n+1, id
		if taskID != 0 && changesText(kind) {
			seen[taskID] = true
		}
	}
	if err := rows.Err(); err != nil || n == 0 {
		return false, err
	}
	for id := range seen {
		if err := tx.indexTask(id); err != nil {
			return false, err
		}
	}
	return n == limit, tx.SetSetting("search_event", from.String())
}

func changesText(kind string) bool {
	switch kind {
	case task.EvTaskClaimed, task.EvTaskReleased, task.EvClaimExpired, task.EvStepUpdated, task.EvStepAdded, task.EvStepRemoved, task.EvStepMoved, task.EvRunCreated, task.EvRunStarted:
		return false
	}
	return true
}

func (tx *Tx) indexTask(id task.ID) error {
	return tx.do(`INSERT OR REPLACE INTO search (docid, title, body)
 SELECT t.id, t.title, t.description || char(10) || coalesce(t.summary, '') || char(10) ||
  coalesce((SELECT group_concat(content, char(10)) FROM messages WHERE task_id = t.id AND run_id IS NULL), '') || char(10) ||
  coalesce((SELECT group_concat(summary, char(10)) FROM runs WHERE task_id = t.id AND summary <> ''), '')
 FROM tasks t WHERE t.id = ?`, id)
}
