package db

import (
	"fmt"

	"taskyard/task"
)

// maxSaid is how many lines of a run a conversation may have.
const maxSaid = 1000

// LastEndedRun returns the newest run of a task that has ended, or nil.
func (rx *Rx) LastEndedRun(taskID task.ID) (*task.Run, error) {
	return nilIfNoRow(scanRun(rx.row("SELECT "+runCols+" FROM runs r INDEXED BY runs_task WHERE r.task_id = ? AND r.ended_at IS NOT NULL "+
		"ORDER BY r.id DESC LIMIT 1", taskID)))
}

// RunConversation returns the conversation of a run in order: its texts, calls, answers
// and prompts, with tool results truncated. complete is false if there is more
// than a conversation may have.
func (rx *Rx) RunConversation(run task.ID) (lines []task.Message, complete bool, err error) {
	rows := rx.query(`SELECT type, coalesce(author, ''), CASE type WHEN 'tool_result' THEN substr(content, 1, ?) ELSE content END,
 length(content), coalesce(data, '') FROM messages
 WHERE run_id = ? AND type IN ('text', 'tool_call', 'tool_result', 'usage', 'message') ORDER BY id LIMIT ?`,
		task.MaxOldResult, run, maxSaid+1)
	lines, err = collect(rows, func(r rowScanner) (m task.Message, err error) {
		var size int
		var data string
		if err = r.Scan(&m.Type, &m.Author, &m.Content, &size, &data); err != nil {
			return m, err
		}
		if m.Data = []byte(data); m.Type == "tool_result" && size > task.MaxOldResult {
			m.Content += fmt.Sprintf("\n[cut: the first %d of %d characters; call the tool again for the rest]", task.MaxOldResult, size)
		}
		return m, nil
	})
	return lines, len(lines) <= maxSaid, err
}
