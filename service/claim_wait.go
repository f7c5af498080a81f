package service

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"taskyard/task"
)

// errNothingFree undoes a try that found nothing, so that no answer is
// remembered for its idempotency key before the wait is over.
var errNothingFree = errors.New("nothing is free")

// SignupWait is like Signup, but waits up to wait (0 to 50 s) for a task.
// Callers are served in order of arrival. If there is no task by then, or the
// server stops, the answer is empty, which is normal. A caller that has
// disconnected claims nothing; a pause that begins in the meantime may end in
// time. Errors: those of Signup, also if max_claims is reached in the meantime;
// too many callers wait already.
func (s *Service) SignupWait(ctx context.Context, a task.Actor, agent string, count int, wait time.Duration) ([]*task.Task, error) {
	if wait < 0 || wait > task.MaxWait {
		return nil, task.FieldErrorf("waitSeconds", "must be 0 to %d", int(task.MaxWait.Seconds()))
	}
	if wait == 0 {
		return s.Signup(ctx, a, agent, count)
	}
	if err := s.maySignup(a, agent, count); err != nil {
		return nil, err
	}
	arrived, err := s.quotas.take(a, quotaSignups, 1, s.Now())
	if err != nil {
		return nil, err
	}
	defer arrived()
	ctx, end := s.WhileValid(ctx, a)
	defer end()
	// In line before the first look: what comes free afterwards is told.
	w := s.waits.join(agent, s.config().WaitLimit)
	defer s.waits.remove(w)
	over := time.After(wait)
	for first := true; ; first = false {
		got, err := s.trySignup(ctx, a, agent, count)
		if task.IsCode(err, task.CodePaused) && !first {
			err = errNothingFree // a resume will tell
		}
		if !errors.Is(err, errNothingFree) {
			s.waits.wake(agent) // there may be more, or this one could not take it
			return got, err
		}
		if w == nil {
			return nil, errCrowded
		}
		select {
		case <-w.wake:
			s.waits.requeue(w)
		case <-over:
			return s.emptySignup(ctx, a, agent, count)
		case <-s.hub.Done():
			return []*task.Task{}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

var errCrowded = &task.Error{
	Kind: task.TooMany, Code: task.CodeRateLimited, Retry: 5,
	Message: "Nothing is free, and too many signups are already waiting: try again later, or without waiting",
}

// emptySignup is the empty answer; one with an idempotency key is stored.
func (s *Service) emptySignup(ctx context.Context, a task.Actor, agent string, count int) ([]*task.Task, error) {
	if idempotencyFromContext(ctx) == nil {
		return []*task.Task{}, nil
	}
	return s.Signup(ctx, a, agent, count)
}

// trySignup is Signup for a caller that may be gone: it then gives back what it
// took. Error: errNothingFree.
func (s *Service) trySignup(ctx context.Context, a task.Actor, agent string, count int) ([]*task.Task, error) {
	if err := s.maySignup(a, agent, count); err != nil {
		return nil, err // the definition changed during the wait
	}
	got, err := mutate(ctx, s, a, func(tx *txn) ([]*task.Task, error) {
		got, err := tx.signup(agent, count)
		if err == nil && len(got) == 0 {
			err = errNothingFree
		}
		return got, err
	})
	// With a key the caller can ask again for the answer it did not hear.
	if err == nil && ctx.Err() != nil && idempotencyFromContext(ctx) == nil {
		a.TokenID = 0 // it may be revoked by now
		if err := s.returnClaims(context.WithoutCancel(ctx), a, got); err != nil {
			return nil, err
		}
		return nil, context.Cause(ctx)
	}
	if err != nil && errors.Is(context.Cause(ctx), errTokenEnded) {
		err = errTokenEnded // not that the write was canceled
	}
	return got, err
}

func (s *Service) returnClaims(ctx context.Context, a task.Actor, list []*task.Task) error {
	return change(ctx, s, a, func(tx *txn) error {
		for _, had := range list {
			tk, err := tx.TaskRow(had.ID)
			if err != nil {
				return err
			}
			if checkClaimID(tk, had.Claim.ID) != nil {
				continue // it moved on by itself
			}
			if err := tx.release(tk, "the caller disconnected"); err != nil {
				return err
			}
		}
		return nil
	})
}

// WaitingSignups returns how many signups wait now.
func (s *Service) WaitingSignups() int { return int(s.waits.n.Load()) }

// nonFreeingEvents are the events after which no further task can be claimed. All
// others let one waiting signup of the agent look.
var nonFreeingEvents = map[string]bool{
	task.EvTaskClaimed: true, task.EvCommented: true, task.EvNotified: true, task.EvAsked: true,
	task.EvStepsReplaced: true, task.EvStepUpdated: true,
	task.EvStepAdded: true, task.EvStepRemoved: true, task.EvStepMoved: true, task.EvStepLinked: true,
	task.EvStepUnlinked: true, task.EvResourceEdited: true,
	task.EvResourceAdded: true, task.EvResourceGone: true, task.EvTodoPushed: true,
	task.EvTodoPopped: true, task.EvRunCreated: true, task.EvRunStarted: true,
	task.EvAgentPaused: true, task.EvInstancePaused: true,
}

// noteFreed records whose queue may hold a free task after an event.
func (tx *txn) noteFreed(kind, agent string) {
	if !nonFreeingEvents[kind] && (agent != "" || kind == task.EvInstanceResumed) {
		tx.signals.Freed = append(tx.signals.Freed, agent)
	}
}

// claimWaiters holds the waiting signups, each agent's in the order in which they
// came. A task that comes free wakes one of them, which looks for itself: a
// thousand that wait cost nothing, and no thousand run for one task.
type claimWaiters struct {
	n      atomic.Int64 // all who wait
	mu     sync.Mutex
	ticket uint64
	lines  map[string]*list.List // those who were not woken, first come first
}

// waiter is in its agent's line, or else has been woken and not looked up
// yet: then woken holds the one signal.
type waiter struct {
	agent  string
	ticket uint64
	place  *list.Element // nil: woken
	wake   chan struct{}
}

// join puts a caller at the end of the line; nil means that there is no room.
func (r *claimWaiters) join(agent string, limit int) *waiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n.Load() >= int64(limit) {
		return nil
	}
	r.n.Add(1)
	r.ticket++
	if r.lines == nil {
		r.lines = map[string]*list.List{}
	}
	if r.lines[agent] == nil {
		r.lines[agent] = list.New()
	}
	w := &waiter{agent: agent, ticket: r.ticket, wake: make(chan struct{}, 1)}
	w.place = r.lines[agent].PushBack(w)
	return w
}

// requeue puts one who was woken at its old place, before it looks: what comes
// free while it looks wakes somebody all the same.
func (r *claimWaiters) requeue(w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := r.lines[w.agent]
	for e := line.Front(); e != nil; e = e.Next() {
		if e.Value.(*waiter).ticket > w.ticket {
			w.place = line.InsertBefore(w, e)
			return
		}
	}
	w.place = line.PushBack(w)
}

// wake lets the first in an agent's line look; with agent "" that of each line.
func (r *claimWaiters) wake(agent string) {
	if r.n.Load() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if agent != "" {
		r.wakeFirst(agent)
		return
	}
	for each := range r.lines {
		r.wakeFirst(each)
	}
}

func (r *claimWaiters) wakeFirst(agent string) {
	line := r.lines[agent]
	if line == nil || line.Len() == 0 {
		return
	}
	w := line.Remove(line.Front()).(*waiter)
	w.place = nil
	w.wake <- struct{}{} // never blocks: one in line has no signal
}

// remove ends a wait; a signal that was not looked up goes to the next.
func (r *claimWaiters) remove(w *waiter) {
	if w == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n.Add(-1)
	if w.place == nil {
		r.wakeFirst(w.agent)
		return
	}
	r.lines[w.agent].Remove(w.place)
}
