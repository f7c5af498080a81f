package db

import (
	"cmp"

	"taskyard/task"
)

// counters gather what the open transaction adds to task_counts and
// stats_hours, so that a batch of writes touches each count once. A trigger on
// each new task cost more than the task itself.
type counters struct {
	c     *conn
	tasks map[taskCount]int
	hours map[hourCount]int

	ids, stored lastIDs // now, and as the database has them; only with PostgreSQL
}

// lastIDs are the last ids of the tables to which nearly every write adds. SQLite
// gives them itself. With PostgreSQL the writer does: it walks over all versions
// of a row that a transaction changes again and again.
type lastIDs struct{ task, event task.ID }

// taskCount is how many tasks of a status an owner has.
type taskCount struct {
	owner  string
	status task.Status
}

// hourCount is how often something happened to an agent's tasks in an hour.
type hourCount struct {
	hour                 int64 // its start
	agent, what, project string
}

func newCounters(c *conn) *counters {
	return &counters{c: c, tasks: map[taskCount]int{}, hours: map[hourCount]int{}}
}

// forget drops the counts that are gathered: their transaction is undone.
func (n *counters) forget() {
	clear(n.tasks)
	clear(n.hours)
}

// write adds what is gathered to the database.
func (n *counters) write() error {
	tx := &Tx{Rx: Rx{c: n.c}}
	for k, by := range n.tasks {
		var err error
		switch {
		case by > 0:
			err = tx.do("INSERT INTO task_counts (owner, status, n) VALUES (?, ?, ?) "+
				"ON CONFLICT (owner, status) DO UPDATE SET n = task_counts.n + excluded.n", k.owner, k.status, by)
		case by < 0: // the CHECK of the table refuses a negative number before there is a conflict
			err = tx.do("UPDATE task_counts SET n = n + ?3 WHERE owner = ?1 AND status = ?2", k.owner, k.status, by)
		}
		if err != nil {
			return err
		}
	}
	for k, by := range n.hours {
		err := tx.do("INSERT INTO stats_hours (hour, agent, model, what, project, n) VALUES (?, ?, '', ?, ?, ?) "+
			"ON CONFLICT (hour, agent, model, what, project) DO UPDATE SET n = stats_hours.n + excluded.n", k.hour, k.agent, k.what, k.project, by)
		if err != nil {
			return err
		}
	}
	n.forget()
	return n.writeIDs()
}

// flushCounts writes what the transaction has gathered, if rx reads in one, before
// counts are read.
func (rx *Rx) flushCounts() error {
	if rx.counters == nil {
		return nil
	}
	return rx.counters.write()
}

// countTask adds to how many tasks of a status an owner has.
func (tx *Tx) countTask(owner string, status task.Status, by int) {
	tx.wrote = true
	tx.counters.tasks[taskCount{owner, status}] += by
}

// recount moves a task that changes now to the count of its new owner and
// status; "" keeps what it has. It returns the owner it had, and its project.
func (tx *Tx) recount(id task.ID, owner string, status task.Status) (before, project string, err error) {
	var oldStatus task.Status
	err = tx.row("SELECT owner, status, project FROM tasks WHERE id = ?", id).Scan(&before, &oldStatus, &project)
	if ok, err := optional(err); err != nil || !ok {
		return before, project, err // the statement that follows changes no row
	}
	tx.countTask(before, oldStatus, -1)
	tx.countTask(cmp.Or(owner, before), cmp.Or(status, oldStatus), 1)
	return before, project, nil
}

// CountAsked counts that a task of an agent starts to wait for a person now.
func (tx *Tx) CountAsked(id task.ID, agent string) error {
	var project string
	if err := tx.row("SELECT project FROM tasks WHERE id = ?", id).Scan(&project); err != nil {
		return err
	}
	tx.countAt(tx.Now, agent, "asked", project)
	return nil
}

// countAt counts one more of what happened to a task of an agent: created,
// done, canceled or asked.
func (tx *Tx) countAt(at task.Time, agent, what, project string) {
	tx.wrote = true
	tx.counters.hours[hourCount{startOfHour(at), agent, what, project}]++
}
