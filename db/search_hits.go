package db

import (
	"slices"

	"taskyard/task"
)

// The texts of a task in which a search is shown to have matched: so many
// comments and runs, the last first.
const (
	hitComments = 200
	hitRuns     = 50
)

// SearchTexts returns the searchable texts of a task besides its title: its
// description, its summary, its last comments, and the summaries of its last
// runs.
func (rx *Rx) SearchTexts(id task.ID) (list []task.HitText, err error) {
	var description, summary string
	err = rx.row("SELECT description, coalesce(summary, '') FROM tasks WHERE id = ?", id).Scan(&description, &summary)
	if err != nil {
		return nil, err
	}
	list = append(list, task.HitText{Place: task.HitDescription, Text: description}, task.HitText{Place: task.HitSummary, Text: summary})
	rows := rx.query("SELECT id, author, content FROM messages WHERE task_id = ? "+
		"AND run_id IS NULL ORDER BY id DESC LIMIT ?", id, hitComments)
	comments, err := collect(rows, func(r rowScanner) (t task.HitText, err error) {
		t.Place = task.HitComment
		return t, r.Scan(&t.Message, &t.By, &t.Text)
	})
	if err != nil {
		return nil, err
	}
	rows = rx.query("SELECT id, agent, summary FROM runs r WHERE task_id = ? ORDER BY id DESC LIMIT ?", id, hitRuns)
	runs, err := collect(rows, func(r rowScanner) (t task.HitText, err error) {
		t.Place = task.HitRun
		return t, r.Scan(&t.Run, &t.By, &t.Text)
	})
	return append(append(list, comments...), runs...), err
}

// maxHitLines bounds how many lines that match are walked for the tasks of a
// page: those between them, which a filter left out, count too.
const maxHitLines = 5000

// MatchingLines returns, per task, the last line of its transcripts that a
// search matches, where there is one.
func (rx *Rx) MatchingLines(tasks []task.ID, q string) (map[task.ID]task.HitText, error) {
	terms := matchTerms(q)
	if terms == "" || len(tasks) == 0 {
		return nil, nil
	}
	first, last := slices.Min(tasks), slices.Max(tasks)
	var docs []int64
	err := rx.matching("search_lines", terms, lineDoc(first, 0), lineDoc(last+1, 0), func(source string, w *where) (bool, error) {
		rows := rx.query("SELECT s.docid FROM "+source+w.sql()+" ORDER BY s.docid DESC LIMIT ?", append(w.args, maxHitLines-len(docs))...)
		list, err := collect(rows, column[int64])
		docs = append(docs, list...)
		return len(docs) == maxHitLines, err
	})
	if err != nil {
		return nil, err
	}
	found := map[task.ID]task.HitText{}
	for _, doc := range docs {
		id := task.ID(doc >> 32)
		if _, seen := found[id]; seen || !slices.Contains(tasks, id) {
			continue
		}
		t := task.HitText{Place: task.HitTranscript}
		err := rx.row("SELECT id, run_id, author, substr(content, 1, ?) FROM messages WHERE id = ?",
			lineChars, doc&(1<<32-1)).Scan(&t.Message, &t.Run, &t.By, &t.Text)
		if ok, err := optional(err); err != nil {
			return nil, err
		} else if ok {
			found[id] = t
		}
	}
	return found, nil
}
