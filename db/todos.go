package db

import (
	"taskyard/task"
)

// TodoEnds are the positions of a list's first and last item. Items leave at
// the ends alone, so there is one at each position between.
type TodoEnds struct{ First, Last int64 }

// Count is how many items the list has.
func (e TodoEnds) Count() int { return int(e.Last - e.First + 1) }

// TodoEnds looks up both ends of an agent's list; those of an empty one are 0
// and -1. It is two steps into the index, however long the list is.
func (rx *Rx) TodoEnds(agent string) (e TodoEnds, err error) {
	return e, rx.row(`SELECT coalesce((SELECT position FROM todos WHERE agent = ?1 ORDER BY position LIMIT 1), 0),
 coalesce((SELECT position FROM todos WHERE agent = ?1 ORDER BY position DESC LIMIT 1), -1)`, agent).Scan(&e.First, &e.Last)
}

// TodoItem returns the item at a position, which must be there.
func (rx *Rx) TodoItem(agent string, position int64) (item string, err error) {
	return item, rx.row("SELECT item FROM todos WHERE agent = ? AND position = ?", agent, position).Scan(&item)
}

// PutTodo stores an item at a position, which must be free and beside an end.
func (tx *Tx) PutTodo(agent string, position int64, item string) error {
	return tx.do("INSERT INTO todos (agent, position, item) VALUES (?, ?, ?)", agent, position, item)
}

// DropTodo removes the item at a position, which must be an end.
func (tx *Tx) DropTodo(agent string, position int64) error {
	return tx.do("DELETE FROM todos WHERE agent = ? AND position = ?", agent, position)
}

// Todos returns up to limit items from a position on, front to back, and the
// position of the last. It ends early where the items outgrow an answer.
func (rx *Rx) Todos(agent string, from int64, limit int) (items []string, last int64, err error) {
	rows := rx.query("SELECT position, item FROM todos WHERE agent = ? AND position >= ? ORDER BY position LIMIT ?", agent, from, limit)
	defer rows.Close()
	items = []string{}
	for size := 0; rows.Next(); {
		var at int64
		var item string
		if err := rows.Scan(&at, &item); err != nil {
			return nil, 0, err
		}
		size += 3 + task.JSONBytes(item)
		if len(items) > 0 && (size > task.MaxTodoBytes || !rx.budget.Fits(size)) {
			break
		}
		items, last = append(items, item), at
	}
	return items, last, rows.Err()
}
