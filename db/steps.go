package db

import "taskyard/task"

// InsertStep writes one step of a plan at a position.
func (tx *Tx) InsertStep(id task.ID, at int, s task.Step) error {
	return tx.do("INSERT INTO steps (task_id, position, title, details, done) VALUES (?, ?, ?, ?, ?)", id, at, s.Title, s.Details, s.Done)
}

// ReplaceSteps writes a whole plan.
func (tx *Tx) ReplaceSteps(id task.ID, steps []task.Step) error {
	if err := tx.do("DELETE FROM steps WHERE task_id = ?", id); err != nil {
		return err
	}
	for i, s := range steps {
		if err := tx.InsertStep(id, i, s); err != nil {
			return err
		}
	}
	return nil
}

// UpdateStep writes title, details and done of one step.
func (tx *Tx) UpdateStep(id task.ID, at int, s task.Step) error {
	return tx.do("UPDATE steps SET title = ?, details = ?, done = ? WHERE task_id = ? AND position = ?", s.Title, s.Details, s.Done, id, at)
}

// LinkStep records the subtask of a step.
func (tx *Tx) LinkStep(id task.ID, at int, subtask task.ID) error {
	return tx.do("UPDATE steps SET subtask_id = ? WHERE task_id = ? AND position = ?", subtask, id, at)
}

// AddResource attaches a resource at a position, which must be the end.
func (tx *Tx) AddResource(id task.ID, at int, r task.Resource) error {
	return tx.do("INSERT INTO resources (task_id, position, type, value, label) VALUES (?, ?, ?, ?, ?)", id, at, r.Type, r.Value, r.Label)
}

// RemoveResource deletes the resource at a position and closes the gap.
func (tx *Tx) RemoveResource(id task.ID, at int) error {
	if err := tx.do("DELETE FROM resources WHERE task_id = ? AND position = ?", id, at); err != nil {
		return err
	}
	// One by one, since a primary key may not collide half-way.
	for i := at + 1; i < task.MaxResources; i++ {
		n, err := tx.changed("UPDATE resources SET position = ? WHERE task_id = ? AND position = ?", i-1, id, i)
		if err != nil || n == 0 {
			return err
		}
	}
	return nil
}
