package db

import "taskyard/task"

// lineCols are those of a message, with only the beginning of its content.
const lineCols = "id, task_id, coalesce(run_id, 0), kind, role, type, author, substr(content, " +
	"1, ?1), coalesce(data, ''), created_at, length(content)"

func scanLine(r rowScanner) (l task.TranscriptLine, err error) {
	var data string
	err = r.Scan(&l.ID, &l.TaskID, &l.RunID, &l.Kind, &l.Role, &l.Type, &l.Author, &l.Content, &data, &l.CreatedAt, &l.Size)
	if data != "" {
		l.Data = []byte(data)
	}
	return l, err
}

// ofKind narrows lines to the kind in ?3.
var ofKind = storeSQL{
	ofKindOn + `coalesce(json_extract(data, '$.isError'), 0) NOT IN (0, '')
 OR coalesce(json_extract(data, '$.is_error'), 0) NOT IN (0, '') OR coalesce(json_extract(data, '$.error'), 0) NOT IN (0, '')
 OR coalesce(json_extract(data, '$.denied'), 0) NOT IN (0, '') OR coalesce(json_extract(data, '$.refused'), 0) NOT IN (0, '')) END`,
	ofKindOn + `coalesce(json_extract(data, '$.isError'), '') NOT IN ('', '0', 'false')
 OR coalesce(json_extract(data, '$.is_error'), '') NOT IN ('', '0', 'false')
 OR coalesce(json_extract(data, '$.error'), '') NOT IN ('', '0', 'false')
 OR coalesce(json_extract(data, '$.denied'), '') NOT IN ('', '0', 'false')
 OR coalesce(json_extract(data, '$.refused'), '') NOT IN ('', '0', 'false')) END`,
}

const ofKindOn = ` AND CASE ?3 WHEN '' THEN TRUE
 WHEN 'said' THEN type IN ('text', 'result', 'message')
 WHEN 'tools' THEN type IN ('tool_call', 'tool_result')
 WHEN 'logs' THEN type IN ('prompt', 'log', 'usage', 'permission')
 ELSE type = 'error' OR type IN ('tool_call', 'tool_result') AND json_valid(data) AND (`

func (rx *Rx) lines(q string, args ...any) ([]task.TranscriptLine, error) {
	return collect(rx.query(q, args...), scanLine)
}

// LinesBefore returns lines of a run before an id, newest first.
func (rx *Rx) LinesBefore(run task.ID, kind string, before task.ID, limit int) ([]task.TranscriptLine, error) {
	return rx.lines("SELECT "+lineCols+" FROM messages INDEXED BY messages_run WHERE run_id = ?2 AND id < ?4"+
		ofKind.forStore(rx)+" ORDER BY id DESC LIMIT ?5", task.TranscriptCut, run, kind, before, limit)
}

// LinesFrom returns lines of a run from an id on, oldest first.
func (rx *Rx) LinesFrom(run task.ID, kind string, from task.ID, limit int) ([]task.TranscriptLine, error) {
	return rx.lines("SELECT "+lineCols+" FROM messages INDEXED BY messages_run WHERE run_id = ?2 AND id >= ?4"+
		ofKind.forStore(rx)+" ORDER BY id LIMIT ?5", task.TranscriptCut, run, kind, from, limit)
}

// LineHits returns the lines of a run that hold a text, oldest first. Letters
// of ASCII match in either case.
func (rx *Rx) LineHits(run task.ID, text string) ([]task.ID, error) {
	rows := rx.query(`SELECT id FROM messages INDEXED BY messages_run WHERE run_id = ?1
 AND (content LIKE ?2 ESCAPE '\' OR data LIKE ?2 ESCAPE '\') ORDER BY id LIMIT ?3`,
		run, likePattern(text), task.MaxTranscriptHits)
	return collect(rows, column[task.ID])
}

// Line returns one line of a run, whole, or nil.
func (rx *Rx) Line(run, id task.ID) (*task.Message, error) {
	m, err := scanMessage(rx.row("SELECT "+messageCols+" FROM messages WHERE id = ? AND run_id = ?", id, run))
	if ok, err := optional(err); !ok {
		return nil, err
	}
	return &m, nil
}

// SessionData returns the data of the log lines with which a program reported
// its session or version, oldest first.
func (rx *Rx) SessionData(run task.ID) ([]string, error) {
	rows := rx.query(`SELECT data FROM (SELECT id, type, data FROM messages INDEXED BY messages_run WHERE run_id = ? ORDER BY id LIMIT 40)
 WHERE type = 'log' AND data IS NOT NULL ORDER BY id`, run)
	return collect(rows, column[string])
}

// UsageReports counts how often a run reported its usage.
func (rx *Rx) UsageReports(run task.ID) (int, error) {
	return rx.count("SELECT count(*) FROM messages INDEXED BY messages_run WHERE run_id = ? AND type = 'usage'", run)
}

// Attempts returns the runs of a task right before and right after a run, 0 if
// there is none.
func (rx *Rx) Attempts(r *task.Run) (prev, next task.ID, err error) {
	err = rx.row("SELECT coalesce((SELECT max(id) FROM runs WHERE task_id = ?1 AND id < ?2), 0), coalesce((SELECT min(id) "+
		"FROM runs WHERE task_id = ?1 AND id > ?2), 0)", r.TaskID, r.ID).Scan(&prev, &next)
	return prev, next, err
}
