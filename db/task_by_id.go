package db

import "taskyard/task"

// TasksByID returns the tasks that exist, as cards, in the order
// given.
func (rx *Rx) TasksByID(ids []task.ID) ([]*task.Task, error) {
	return rx.tasks("SELECT "+taskCard+" FROM json_each(?) j CROSS JOIN tasks t ON t.id = CAST(j.value AS BIGINT) ORDER BY j.key",
		jsonIDs(ids))
}

// CountDescendants counts the open tasks below any of the tasks, at any depth,
// without these themselves.
func (rx *Rx) CountDescendants(ids []task.ID) (int, error) {
	return rx.count(`WITH RECURSIVE down (id, n) AS (
 SELECT c.id, 1 FROM json_each(?1) j CROSS JOIN tasks c ON c.parent_id = CAST(j.value AS BIGINT)
 UNION SELECT c.id, down.n + 1 FROM down CROSS JOIN tasks c ON c.parent_id = down.id WHERE down.n < 20)
 SELECT count(DISTINCT t.id) FROM down CROSS JOIN tasks t ON t.id = down.id WHERE t.archived_at IS NULL
 AND t.id NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))`, jsonIDs(ids))
}

// jsonIDs encodes ids for json_each, as the numbers that SQL compares; the
// JSON of a task.ID is a string.
func jsonIDs(ids []task.ID) string {
	list := make([]int64, len(ids))
	for i, id := range ids {
		list[i] = int64(id)
	}
	return asJSON(list)
}
