package service

import (
	"cmp"
	"context"
	"strconv"

	"taskyard/db"
	"taskyard/task"
)

// Todo does one operation on an agent's todo list; item is for lpush and rpush
// alone, "" elsewhere. Errors as TodoCall.
func (s *Service) Todo(ctx context.Context, a task.Actor, agent string, op task.TodoOp, item string) (task.TodoAnswer, error) {
	c := task.TodoCall{Op: op}
	if item != "" {
		c.Item = &item
	}
	return s.TodoCall(ctx, a, agent, c)
}

// TodoCall does one operation on an agent's todo list, which every agent and
// person may use: each but list costs the same however long the list is.
// Nothing to pop or peek at is a normal answer, OK false. Errors: unknown
// agent, invalid fields, viewers that push or pop, list full.
func (s *Service) TodoCall(ctx context.Context, a task.Actor, agent string, c task.TodoCall) (task.TodoAnswer, error) {
	perm := task.Read
	if c.Op.Changes() {
		perm = task.Write
	}
	if err := s.allowedOwn(a, perm); err != nil {
		return task.TodoAnswer{}, err
	}
	if agent != a.Name && s.isOwnTasksOnly(a) {
		return task.TodoAnswer{}, ownOnlyError(a)
	}
	if err := c.Check(); err != nil {
		return task.TodoAnswer{}, err
	}
	if err := s.checkAgentExists(agent); err != nil {
		return task.TodoAnswer{}, err
	}
	switch {
	case c.Op.Pushes():
		return mutate(ctx, s, a, func(tx *txn) (task.TodoAnswer, error) { return tx.pushTodo(agent, c.Op, *c.Item) })
	case c.Op.Pops():
		return mutate(ctx, s, a, func(tx *txn) (task.TodoAnswer, error) { return tx.popTodo(agent, c.Op) })
	}
	var out task.TodoAnswer
	err := s.db.Snapshot(ctx, func(rx *db.Rx) (err error) {
		out, err = readTodo(rx, agent, c)
		return err
	})
	return out, err
}

func (tx *txn) pushTodo(agent string, op task.TodoOp, item string) (task.TodoAnswer, error) {
	ends, err := tx.TodoEnds(agent)
	if err != nil {
		return task.TodoAnswer{}, err
	}
	n := ends.Count() + 1
	if n > tx.s.config().TodoLimit {
		e := task.Errorf(task.TooMany, task.CodeQueueFull, "The todo list of %s has %d items: pop some first", agent, ends.Count())
		e.Retry = 60
		return task.TodoAnswer{}, e
	}
	at := ends.Last + 1
	if op.Front() {
		at = ends.First - 1
	}
	if err := tx.PutTodo(agent, at, item); err != nil {
		return task.TodoAnswer{}, err
	}
	return task.TodoAnswer{OK: true, Count: &n}, tx.todoEvent(task.EvTodoPushed, agent, op, item, n)
}

func (tx *txn) popTodo(agent string, op task.TodoOp) (task.TodoAnswer, error) {
	ends, err := tx.TodoEnds(agent)
	if err != nil || ends.Count() == 0 {
		return task.TodoAnswer{}, err
	}
	at := todoEnd(ends, op)
	item, err := tx.TodoItem(agent, at)
	if err != nil {
		return task.TodoAnswer{}, err
	}
	if err := tx.DropTodo(agent, at); err != nil {
		return task.TodoAnswer{}, err
	}
	return task.TodoAnswer{OK: true, Item: &item}, tx.todoEvent(task.EvTodoPopped, agent, op, item, ends.Count()-1)
}

// todoEvent keeps the first 200 characters of the item, so that the log stays
// small.
func (tx *txn) todoEvent(kind, agent string, op task.TodoOp, item string, count int) error {
	short, cut := task.ClipTodo(item)
	c := changes{"operation": op, "item": short, "count": count}
	if cut {
		c["bytes"] = len(item)
	}
	return tx.event(kind, task.Event{Agent: agent}, c)
}

func readTodo(rx *db.Rx, agent string, c task.TodoCall) (task.TodoAnswer, error) {
	ends, err := rx.TodoEnds(agent)
	if err != nil {
		return task.TodoAnswer{}, err
	}
	n := ends.Count()
	switch {
	case c.Op == task.TodoCount:
		return task.TodoAnswer{OK: true, Count: &n}, nil
	case c.Op == task.TodoList:
		return listTodo(rx, agent, c, ends)
	case n == 0:
		return task.TodoAnswer{}, nil
	}
	item, err := rx.TodoItem(agent, todoEnd(ends, c.Op))
	return task.TodoAnswer{OK: true, Item: &item}, err
}

// todoEnd returns the position that pops and peeks work at.
func todoEnd(ends db.TodoEnds, op task.TodoOp) int64 {
	if op.Front() {
		return ends.First
	}
	return ends.Last
}

// listTodo answers a page of the list; where that is not the whole list, with
// the count of all and the cursor.
func listTodo(rx *db.Rx, agent string, c task.TodoCall, ends db.TodoEnds) (task.TodoAnswer, error) {
	from, limit := ends.First, cmp.Or(c.Limit, task.MaxTodoPage)
	if c.After != "" {
		after, err := c.Position()
		if err != nil {
			return task.TodoAnswer{}, err
		}
		from = max(from, min(after, ends.Last)+1) // min: no overflow
	}
	items, last, err := rx.Todos(agent, from, limit)
	out := task.TodoAnswer{OK: true, Items: &items}
	if n := ends.Count(); len(items) < n {
		out.Count = &n
	}
	if len(items) > 0 && last < ends.Last {
		out.Next = strconv.FormatInt(last, 10)
	}
	return out, err
}
