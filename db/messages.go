package db

import (
	"encoding/json"

	"taskyard/task"
)

const messageCols = "id, task_id, coalesce(run_id, 0), kind, role, type, author, content, coalesce(data, ''), created_at"

func scanMessage(r rowScanner) (m task.Message, err error) {
	var data string
	err = r.Scan(&m.ID, &m.TaskID, &m.RunID, &m.Kind, &m.Role, &m.Type, &m.Author, &m.Content, &data, &m.CreatedAt)
	if data != "" {
		m.Data = json.RawMessage(data)
	}
	return m, err
}

// InsertMessage appends to a thread; its time is set here.
func (tx *Tx) InsertMessage(m task.Message) (task.ID, error) {
	var data any
	if len(m.Data) > 0 {
		data = string(m.Data)
	}
	return tx.insert("INSERT INTO messages (task_id, run_id, kind, role, type, author, content, data, created_at) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		m.TaskID, nullZero(m.RunID), m.Kind, m.Role, m.Type, m.Author, m.Content, data, tx.Now)
}

// messagesWithin returns messages within the budget of the answer.
func (rx *Rx) messagesWithin(q string, args ...any) ([]task.Message, error) {
	list, _, err := within(rx, rx.query(q, args...), scanMessage)
	return list, err
}

// Comments returns the messages of a task after an id, without its runs, oldest
// first.
func (rx *Rx) Comments(id, after task.ID, limit int) ([]task.Message, error) {
	return rx.messagesWithin("SELECT "+messageCols+" FROM messages WHERE task_id = ? "+
		"AND run_id IS NULL AND id > ? ORDER BY id LIMIT ?", id, after, limit)
}

// Thread is Comments with a message for each run that was started and has
// ended, in its place: its id is that of the run's last line. The ids of a page
// are sorted before any text is read: texts that do not fit into the answer
// cost nothing.
func (rx *Rx) Thread(id, after task.ID, limit int) ([]task.Message, error) {
	order := ""
	if rx.c.postgres() {
		order = " ORDER BY page.id" // SQLite keeps that of the page
	}
	return rx.messagesWithin(`SELECT page.id, ?1, page.run, coalesce(m.kind, 'run'), coalesce(m.role, 'system'),
 coalesce(m.type, CASE r.status WHEN 'completed' THEN 'result' ELSE 'error' END), coalesce(m.author, r.agent),
 coalesce(m.content, CASE r.status WHEN 'completed' THEN r.summary ELSE r.reason END),
 CASE WHEN r.id IS NULL THEN coalesce(m.data, '') ELSE '{"status":"' || r.status || '","phase":"' || r.phase || '"}' END,
 coalesce(m.created_at, r.ended_at)
 FROM (SELECT id, 0 AS run FROM messages WHERE task_id = ?1 AND run_id IS NULL AND id > ?2
 UNION ALL SELECT thread_at, id FROM runs WHERE task_id = ?1 AND thread_at > ?2 ORDER BY 1 LIMIT ?3) page
 LEFT JOIN messages m ON page.run = 0 AND m.id = page.id LEFT JOIN runs r ON r.id = page.run`+order, id, after, limit)
}

// Message returns one message of a task.
func (rx *Rx) Message(id task.ID) (task.Message, error) {
	return scanMessage(rx.row("SELECT "+messageCols+" FROM messages WHERE id = ?", id))
}

// FindMessage is Message where there may be none.
func (rx *Rx) FindMessage(id task.ID) (m task.Message, ok bool, err error) {
	return okIfRow(rx.Message(id))
}

// Transcript returns the lines of a run after an id, oldest first.
func (rx *Rx) Transcript(run, after task.ID, limit int) ([]task.Message, error) {
	return rx.messagesWithin("SELECT "+messageCols+" FROM messages WHERE run_id = ? AND id > ? ORDER BY id LIMIT ?", run, after, limit)
}

// dropBytes is about how much of transcripts one write deletes at most: the
// search reads what it forgets.
const dropBytes = 64 << 10

// DropTranscripts deletes up to limit transcript lines of runs that ended
// before a moment, from the search too, and returns how many.
func (tx *Tx) DropTranscripts(endedBefore task.Time, limit int) (int64, error) {
	rows := tx.query(`SELECT m.id, m.task_id, octet_length(m.content) FROM runs r JOIN messages m ON m.run_id = r.id
 WHERE r.ended_at IS NOT NULL AND r.ended_at < ? LIMIT ?`, endedBefore, limit)
	lines, err := collect(rows, func(r rowScanner) (l [3]task.ID, err error) { return l, r.Scan(&l[0], &l[1], &l[2]) })
	bytes := task.ID(0)
	for i := 0; i < len(lines) && err == nil; i++ {
		if bytes += lines[i][2]; bytes > dropBytes && i > 0 {
			return int64(i), nil
		}
		id, of := lines[i][0], lines[i][1]
		if err = tx.do("DELETE FROM search_lines WHERE docid = ?", lineDoc(of, id)); err == nil {
			err = tx.do("DELETE FROM messages WHERE id = ?", id)
		}
	}
	return int64(len(lines)), err
}
