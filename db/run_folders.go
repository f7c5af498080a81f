package db

import (
	"encoding/json"

	"taskyard/task"
)

// OrphanedFolders returns those of the folders to which nobody comes back: that of a
// start when its run, and each that continued in it, ended before a moment; a
// worktree when its task was closed before it; neither while a run that it
// delegated may work there. Folders of runs that are not known are none of
// them.
func (rx *Rx) OrphanedFolders(list []task.RunFolder, before task.Time) ([]task.RunFolder, error) {
	cells := make([][3]any, len(list))
	for i, f := range list {
		cells[i] = [3]any{int64(f.Run), f.Name, btoi(f.Tree)}
	}
	b, err := json.Marshal(cells)
	if err != nil {
		return nil, err
	}
	rows, err := rx.query(`SELECT j.key FROM json_each(?1) j CROSS
 JOIN runs r ON r.id = CAST(json_extract(j.value, '$[0]') AS BIGINT) CROSS JOIN tasks t ON t.id = r.task_id
 WHERE r.ended_at < ?2 AND CASE WHEN CAST(json_extract(j.value, '$[2]') AS BIGINT) = 1 THEN t.archived_at < ?2
 ELSE NOT EXISTS (SELECT 1 FROM runs o WHERE o.task_id = r.task_id AND o.folder = json_extract(j.value, '$[1]')
 AND coalesce(o.ended_at, ?2) >= ?2) END
 AND NOT EXISTS (SELECT 1 FROM runs c INDEXED BY runs_parent
 WHERE c.parent_run = r.id AND coalesce(c.ended_at, ?2) >= ?2)`, string(b), before)
	return collect(rows, err, func(r rowScanner) (f task.RunFolder, err error) {
		var i int
		if err = r.Scan(&i); err == nil {
			f = list[i]
		}
		return f, err
	})
}
