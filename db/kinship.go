package db

import "taskyard/task"

// Relation is how a task relates to an agent, the closer the greater.
type Relation int

// The relations, from none to the closest.
const (
	NoRelation Relation = iota
	Above               // or its own work: it created the task, or has to do with one below it
	Within              // it owns the task or one above it
)

// Relation returns how a task relates to an agent, to which the task at counts as
// one that it owns; 0 is none. A task that does not exist has no relation.
func (rx *Rx) Relation(agent string, at, id task.ID) (Relation, error) {
	n, err := rx.count(`WITH RECURSIVE up (id, n) AS (
 SELECT CAST(?1 AS BIGINT), 0
 UNION ALL SELECT p.parent_id, up.n + 1 FROM up CROSS JOIN tasks p ON p.id = up.id WHERE p.parent_id IS NOT NULL AND up.n < 20),
 down (id, n) AS (
 SELECT CAST(?1 AS BIGINT), 0
 UNION ALL SELECT c.id, down.n + 1 FROM down CROSS JOIN tasks c ON c.parent_id = down.id WHERE down.n < 20)
 SELECT CASE
 WHEN EXISTS (SELECT 1 FROM up CROSS JOIN tasks t ON t.id = up.id WHERE t.owner = ?2 OR t.id = ?3) THEN 2
 WHEN EXISTS (SELECT 1 FROM down CROSS JOIN tasks t ON t.id = down.id WHERE t.owner = ?2 OR t.created_by = ?2 OR t.id = ?3) THEN 1
 ELSE 0 END`, id, agent, at)
	return Relation(n), err
}
