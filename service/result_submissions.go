package service

import (
	"maps"
	"sync"
	"time"

	"taskyard/task"
)

// submissions are the completions whose checks run, and those whose outcome
// nobody has heard yet.
type submissions struct {
	mu  sync.Mutex
	all map[task.ID]*submission
}

// outcomeLife is how long the outcome of a completion is kept for who asked.
const outcomeLife = 15 * time.Minute

// join returns the completion of the task that runs already, if it is the same
// call of the same caller, else the new one. Error: another one runs.
func (l *submissions) join(sub *submission, now task.Time) (*submission, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.all, func(_ task.ID, s *submission) bool { return s.isDone() && now.Sub(s.since) >= outcomeLife })
	existing := l.all[sub.task.ID]
	switch {
	case existing == nil:
	case existing.isFor(sub.caller, sub.again, sub.summary, now):
		return existing, nil
	case !existing.isDone():
		what := "is being completed"
		if existing.again != "" {
			what = "has its check " + existing.again + " run again"
		}
		return nil, task.Errorf(task.Conflict, task.CodeChecksRunning,
			"Task %d %s by %s: its checks run", sub.task.ID, what, task.ActorLabel(existing.caller.Name))
	}
	sub.done, sub.since = make(chan struct{}), now
	l.all[sub.task.ID] = sub
	return sub, nil
}

// find returns the completion of a task, or the run of one check, by the same
// call, which runs or whose outcome nobody has heard, else nil.
func (l *submissions) find(id task.ID, a task.Actor, again, summary string, now task.Time) *submission {
	l.mu.Lock()
	defer l.mu.Unlock()
	if existing := l.all[id]; existing != nil && existing.isFor(a, again, summary, now) {
		return existing
	}
	return nil
}

// isFor reports whether a call is the one that the completion is made for.
func (sub *submission) isFor(a task.Actor, again, summary string, now task.Time) bool {
	return sub.caller.Name == a.Name && sub.caller.RunID == a.RunID && sub.again == again && sub.summary == summary &&
		(!sub.isDone() || now.Sub(sub.since) < outcomeLife)
}

// forget forgets a completion whose outcome was heard.
func (l *submissions) forget(sub *submission) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[sub.task.ID] == sub {
		delete(l.all, sub.task.ID)
	}
}

func (sub *submission) isDone() bool {
	select {
	case <-sub.done:
		return true
	default:
		return false
	}
}
