package service

import (
	"context"
	"slices"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// How much of a large family, or a long queue, the page of a task reads.
const (
	pageFamily  = 60    // subtasks, and siblings
	pageRuns    = 50    // newest runs
	pageEvents  = 60    // newest events, to tell who changed what
	pageBlocks  = 200   // tasks that wait for it
	pageBelow   = 20000 // tasks whose use is summed up
	pageAhead   = 2000  // tasks before it in its queue
	pageCounted = 1000  // entries of its stream of each sort
)

// Siblings are tasks of one parent: some of them, open ones first, and how many
// there are.
type Siblings struct {
	Tasks                []*task.Task
	Open, Done, Canceled int
}

// Total is how many there are.
func (k Siblings) Total() int { return k.Open + k.Done + k.Canceled }

// TaskPage is all that the page of a task shows, but its stream.
type TaskPage struct {
	Task          *task.Task   // without comments
	Linked        []*task.Task // the subtasks of its steps
	Subtasks      Siblings
	Siblings      Siblings     // the task itself among them
	Ancestors     []*task.Task // from the root down
	Runs          []*task.Run  // the newest first
	OpenRun       *task.Run
	Events        []task.Event  // the newest, oldest of them first
	Question      *task.Message // the open one
	Blockers      []*task.Task  // must be done first, those done by now too
	Blocks        []*task.Task  // wait for this one, or did
	Why           []task.Reason
	Usage, Family task.Usage // of its own runs, and with those of all subtasks
	Prev, Next    task.ID    // in its owner's queue
	Place         int        // there, from 1; 0 when it is in no queue, or far back
}

// TaskPage reads a task with everything around it in one snapshot; its reasons
// tell times in zone. Error: unknown id.
func (s *Service) TaskPage(ctx context.Context, a task.Actor, id task.ID, zone *time.Location) (p TaskPage, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return p, err
	}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error {
		if p.Task, err = rx.TaskWithTexts(id); err != nil {
			return err
		}
		for _, read := range []func(*db.Rx) error{p.readFamily, p.work, p.readNeighbors} {
			if err := read(rx); err != nil {
				return err
			}
		}
		p.Why, err = s.why(rx, p.Task, p.OpenRun, zone)
		return err
	})
	return p, err
}

func (p *TaskPage) readFamily(rx *db.Rx) (err error) {
	id := p.Task.ID
	if p.Ancestors, err = rx.Ancestors(id); err != nil {
		return err
	}
	slices.Reverse(p.Ancestors)
	if p.Linked, err = rx.Linked(id); err != nil {
		return err
	}
	if p.Subtasks, err = readSiblings(rx, id); err != nil {
		return err
	}
	if p.Task.ParentTaskID != 0 {
		p.Siblings, err = readSiblings(rx, p.Task.ParentTaskID)
	}
	return err
}

func readSiblings(rx *db.Rx, parent task.ID) (k Siblings, err error) {
	if k.Open, k.Done, k.Canceled, err = rx.ChildCounts(parent); err != nil || k.Total() == 0 {
		return k, err
	}
	for _, open := range []bool{true, false} {
		list, err := rx.Subtasks(parent, 0, open, pageFamily-len(k.Tasks))
		if err != nil {
			return k, err
		}
		k.Tasks = append(k.Tasks, list...)
	}
	return k, nil
}

func (p *TaskPage) work(rx *db.Rx) (err error) {
	id := p.Task.ID
	if p.Runs, err = rx.TaskRuns(id, 0, 0, pageRuns); err != nil {
		return err
	}
	if p.OpenRun, err = rx.OpenRun(id); err != nil {
		return err
	}
	if p.Usage, p.Family, err = rx.UsageBelow(id, pageBelow); err != nil {
		return err
	}
	if p.Events, err = rx.LastEvents(id, pageEvents); err != nil || p.Task.QuestionID == 0 {
		return err
	}
	q, err := rx.Message(p.Task.QuestionID)
	p.Question = &q
	return err
}

func (p *TaskPage) readNeighbors(rx *db.Rx) (err error) {
	id := p.Task.ID
	if p.Blockers, err = rx.Blockers(id); err != nil {
		return err
	}
	if p.Blocks, err = rx.Blocks(id, pageBlocks); err != nil || p.Task.Status != task.Active {
		return err
	}
	p.Prev, p.Next, p.Place, err = rx.Neighbors(p.Task, pageAhead)
	return err
}

// Subtasks returns subtasks of a task in the order of their ids, open ones or
// archived ones, after an id. Errors: unknown id, bad limit.
func (s *Service) Subtasks(ctx context.Context, a task.Actor, id, after task.ID, open bool, limit int) ([]*task.Task, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	if limit < 1 || limit > 200 {
		return nil, task.FieldErrorf("limit", "must be 1 to 200")
	}
	return read(ctx, s, func(rx *db.Rx) ([]*task.Task, error) {
		if _, err := rx.TaskRow(id); err != nil {
			return nil, err
		}
		return rx.Subtasks(id, after, open, limit)
	})
}

// OpenBelow returns what canceling a task would cancel besides it: the open
// tasks below it at any depth, the nearest first. Error: unknown id.
func (s *Service) OpenBelow(ctx context.Context, a task.Actor, id task.ID) ([]*task.Task, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]*task.Task, error) {
		if _, err := rx.TaskRow(id); err != nil {
			return nil, err
		}
		return rx.OpenDescendants(id)
	})
}
