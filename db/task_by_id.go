package db

import (
	"encoding/json"

	"taskyard/task"
)

// TasksByID returns those of the tasks that there are, as cards, in the order
// given.
func (rx *Rx) TasksByID(ids []task.ID) ([]*task.Task, error) {
	b, err := json.Marshal(numbers(ids))
	if err != nil {
		return nil, err
	}
	return rx.tasks("SELECT "+taskCard+" FROM json_each(?) j CROSS JOIN tasks t ON t.id = CAST(j.value AS BIGINT) ORDER BY j.key", string(b))
}

// BelowMany counts the open tasks below any of the tasks, at any depth,
// without these themselves.
func (rx *Rx) BelowMany(ids []task.ID) (int, error) {
	b, err := json.Marshal(numbers(ids))
	if err != nil {
		return 0, err
	}
	return rx.count(`WITH RECURSIVE down (id, n) AS (
 SELECT c.id, 1 FROM json_each(?1) j CROSS JOIN tasks c ON c.parent_id = CAST(j.value AS BIGINT)
 UNION SELECT c.id, down.n + 1 FROM down CROSS JOIN tasks c ON c.parent_id = down.id WHERE down.n < 20)
 SELECT count(DISTINCT t.id) FROM down CROSS JOIN tasks t ON t.id = down.id WHERE t.archived_at IS NULL
 AND t.id NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))`, string(b))
}

// numbers are ids as SQL compares them: JSON has them as strings.
func numbers(ids []task.ID) []int64 {
	list := make([]int64, len(ids))
	for i, id := range ids {
		list[i] = int64(id)
	}
	return list
}
