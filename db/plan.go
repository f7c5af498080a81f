package db

import "taskyard/task"

// ArrangeSteps turns the plan before into the plan now: rows that differ are
// written, rows are added or taken off at the end. A link moves with its step.
func (tx *Tx) ArrangeSteps(id task.ID, before, now []task.Step) error {
	// A subtask is linked once, half-way too.
	for i, s := range before {
		if s.TaskID != 0 && (i >= len(now) || now[i] != s) {
			if err := tx.do("UPDATE steps SET subtask_id = NULL WHERE task_id = ? AND position = ?", id, i); err != nil {
				return err
			}
		}
	}
	for i, s := range now {
		switch {
		case i >= len(before):
			if err := tx.InsertStep(id, i, s); err != nil {
				return err
			}
			if s.TaskID == 0 {
				continue
			}
			if err := tx.LinkStep(id, i, s.TaskID); err != nil {
				return err
			}
		case before[i] != s:
			if err := tx.do("UPDATE steps SET title = ?, details = ?, done = ?, subtask_id = ? WHERE task_id = ? AND position = ?",
				s.Title, s.Details, s.Done, nullZero(s.TaskID), id, i); err != nil {
				return err
			}
		}
	}
	return tx.do("DELETE FROM steps WHERE task_id = ? AND position >= ?", id, len(now))
}

// UpdateResource writes the resource at a position.
func (tx *Tx) UpdateResource(id task.ID, at int, r task.Resource) error {
	return tx.do("UPDATE resources SET type = ?, value = ?, label = ? WHERE task_id = ? AND position = ?", r.Type, r.Value, r.Label, id, at)
}
