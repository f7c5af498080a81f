package db

import "taskyard/task"

// outline lists the columns that decide how a task is drawn.
const outline = `t.id, t.status, t.priority, t.created_at, coalesce(t.claim_holder, ''), coalesce(t.claim_expires, 0),
 coalesce(t.question_id, 0), coalesce(t.run_id, 0), t.failures,
 coalesce((SELECT phase FROM runs r WHERE r.id = t.run_id), ''), t.blocked, t.blockers_canceled, t.awaits`

// Outlines is OpenTasks in queue order with only the fields that decide how a task is drawn:
// boards look at many tasks for each that they show.
func (rx *Rx) Outlines(f task.TaskFilter) ([]*task.Task, string, error) {
	f.Sort = ""
	w, err := rx.openWhere(f)
	if err != nil {
		return nil, "", err
	}
	from, args, err := queueOrder(w, f.After, f.Limit+1)
	if err != nil {
		return nil, "", err
	}
	r, cancel := rx.boundedSearch(f.Query)
	defer cancel()
	rows := r.query("SELECT "+outline+from, args...)
	list, err := collect(rows, func(r rowScanner) (*task.Task, error) {
		t, c := &task.Task{}, task.Claim{}
		err := r.Scan(&t.ID, &t.Status, &t.Priority, &t.CreatedAt, &c.Holder, &c.ExpiresAt, &t.QuestionID,
			&t.OpenRunID, &t.Failures, &t.OpenRunPhase, &t.Blocked, &t.BlockersCanceled, &t.Awaits)
		if c.Holder != "" {
			t.Claim = &c
		}
		t.Derive(rx.Now)
		return t, err
	})
	if err != nil || len(list) <= f.Limit {
		return list, "", err
	}
	return list[:f.Limit], taskCursor(list[f.Limit-1]), nil
}
