package db

import "taskyard/task"

// OrphanedFolders returns those of the folders to which nobody comes back: that of a
// start when its run, and each that continued in it, ended before a moment; a
// worktree when its task was closed before it, or was merged at any time; neither
// while a run that it delegated may work there. Folders of runs that are not known
// are none of them.
func (rx *Rx) OrphanedFolders(list []task.RunFolder, before task.Time) ([]task.RunFolder, error) {
	cells := make([][3]any, len(list))
	for i, f := range list {
		cells[i] = [3]any{int64(f.Run), f.Name, btoi(f.Tree)}
	}
	rows := rx.query(`WITH f AS (SELECT j.key, json_extract(j.value, '$[1]') AS name,
 CAST(json_extract(j.value, '$[2]') AS BIGINT) AS tree, r.id AS run, r.task_id, r.ended_at, t.archived_at,
 CASE WHEN CAST(json_extract(j.value, '$[2]') AS BIGINT) = 1
 AND EXISTS (SELECT 1 FROM merges m WHERE m.task_id = t.id AND m.state = 'merged')
 THEN CAST(?3 AS BIGINT) ELSE CAST(?2 AS BIGINT) END AS cut
 FROM json_each(?1) j CROSS JOIN runs r ON r.id = CAST(json_extract(j.value, '$[0]') AS BIGINT)
 CROSS JOIN tasks t ON t.id = r.task_id)
 SELECT f.key FROM f WHERE f.ended_at < f.cut AND CASE WHEN f.tree = 1 THEN f.archived_at < f.cut
 ELSE NOT EXISTS (SELECT 1 FROM runs o WHERE o.task_id = f.task_id AND o.folder = f.name
 AND coalesce(o.ended_at, f.cut) >= f.cut) END
 AND NOT EXISTS (SELECT 1 FROM runs c INDEXED BY runs_parent
 WHERE c.parent_run = f.run AND coalesce(c.ended_at, f.cut) >= f.cut)`,
		asJSON(cells), before, rx.Now+1)
	return collect(rows, func(r rowScanner) (f task.RunFolder, err error) {
		var i int
		if err = r.Scan(&i); err == nil {
			f = list[i]
		}
		return f, err
	})
}
