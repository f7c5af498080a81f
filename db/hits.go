package db

import "taskyard/task"

// The texts of a task in which a search is shown to have matched: so many
// comments and runs, the last first.
const (
	hitComments = 200
	hitRuns     = 50
)

// TextsOf returns what the search has of a task besides its title: its
// description, its summary, its last comments, and the summaries of its last
// runs.
func (rx *Rx) TextsOf(id task.ID) (list []task.HitText, err error) {
	var description, summary string
	err = rx.row("SELECT description, coalesce(summary, '') FROM tasks WHERE id = ?", id).Scan(&description, &summary)
	if err != nil {
		return nil, err
	}
	list = append(list, task.HitText{Place: task.HitDescription, Text: description}, task.HitText{Place: task.HitSummary, Text: summary})
	rows, err := rx.query("SELECT id, author, content FROM messages WHERE task_id = ? AND run_id IS NULL ORDER BY id DESC LIMIT ?", id, hitComments)
	comments, err := collect(rows, err, func(r rowScanner) (t task.HitText, err error) {
		t.Place = task.HitComment
		return t, r.Scan(&t.Message, &t.By, &t.Text)
	})
	if err != nil {
		return nil, err
	}
	rows, err = rx.query("SELECT id, agent, summary FROM runs r WHERE task_id = ? ORDER BY id DESC LIMIT ?", id, hitRuns)
	runs, err := collect(rows, err, func(r rowScanner) (t task.HitText, err error) {
		t.Place = task.HitRun
		return t, r.Scan(&t.Run, &t.By, &t.Text)
	})
	return append(append(list, comments...), runs...), err
}

// LineOf returns the last line of a task's transcripts that a search matches.
// ok is false when there is none.
func (rx *Rx) LineOf(id task.ID, q string) (t task.HitText, ok bool, err error) {
	terms := matchTerms(q)
	if terms == "" {
		return t, false, nil
	}
	t.Place = task.HitTranscript
	err = rx.row(`SELECT m.id, m.run_id, m.author, m.content FROM search_lines l CROSS JOIN messages m ON m.id = l.docid & 4294967295
 WHERE search_lines MATCH ? AND l.docid >= ? AND l.docid < ? ORDER BY l.docid DESC LIMIT 1`, terms, lineDoc(id, 0), lineDoc(id+1, 0)).Scan(&t.Message, &t.Run, &t.By, &t.Text)
	ok, err = optional(err)
	return t, ok, err
}
