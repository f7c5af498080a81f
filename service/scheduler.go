package service

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// How much of each list the Scheduler page shows.
const (
	shownTicks = 10
	shownLines = 100
)

// Scheduler returns the last rounds, receipts, job records, open runs, wakes
// and claims. Error: may not read.
func (s *Service) Scheduler(ctx context.Context, a task.Actor) (st task.SchedulerState, err error) {
	if err := s.allowed(a, task.Read); err != nil {
		return st, err
	}
	if s.config().Wakes {
		st.WakeBudget = s.config().WakeBudget
	}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error { return s.readScheduler(rx, &st) })
	return st, err
}

func (s *Service) readScheduler(rx *db.Rx, st *task.SchedulerState) (err error) {
	if st.Ticks, err = rx.Ticks(shownTicks); err != nil {
		return err
	}
	if st.Skips, err = rx.Skips(shownLines); err != nil {
		return err
	}
	if st.JobRecords, err = rx.Jobs(); err != nil {
		return err
	}
	if st.Running, err = rx.Running(); err != nil {
		return err
	}
	if st.Queued, err = rx.QueuedRuns(shownLines); err != nil {
		return err
	}
	if st.Woken, err = rx.WokenSince(rx.Now.Add(-time.Hour), shownLines); err != nil {
		return err
	}
	if st.Claims, err = rx.ClaimedTasks(shownLines); err != nil {
		return err
	}
	st.Why, err = s.queuedWhy(rx, st.Queued)
	return err
}

// places are the free places as the dispatcher counts them.
type places struct {
	byAgent       map[string]int
	total, ticked int
	pauses        task.Pauses
	budgets       map[string]string // why an agent may start nothing today, or ""
	before        map[string]int    // queued runs of the agent seen so far
}

// queuedWhy returns for each queued run, in a few words, why it has not started.
func (s *Service) queuedWhy(rx *db.Rx, queued []*task.Run) (map[task.ID]string, error) {
	why := make(map[task.ID]string, len(queued))
	p := places{budgets: map[string]string{}, before: map[string]int{}}
	var err error
	if p.byAgent, p.total, p.ticked, err = rx.RunningCounts(); err != nil {
		return nil, err
	}
	if p.pauses, err = rx.Pauses(); err != nil {
		return nil, err
	}
	for _, r := range queued {
		if _, known := p.budgets[r.Agent]; !known {
			b, err := s.overBudget(rx, r.Agent)
			if err != nil {
				return nil, err
			}
			if p.budgets[r.Agent] = ""; b != nil {
				p.budgets[r.Agent] = b.Message()
			}
		}
		why[r.ID] = s.waitsFor(rx, r, &p)
		p.before[r.Agent]++
	}
	return why, nil
}

func (s *Service) waitsFor(rx *db.Rx, r *task.Run, p *places) string {
	def, ok := s.agents.Agent(r.Agent)
	slots := max(1, def.MaxParallel)
	alone := cmp.Or(s.leaveReason(r), s.noWorkerReason(r.Agent, rx.Now))
	pause := p.pauses.For(r.Agent)
	switch {
	case pause != nil && pause.Agent == "":
		return "the server is paused by " + task.ActorLabel(pause.By)
	case pause != nil:
		return r.Agent + " is paused by " + task.ActorLabel(pause.By)
	case p.budgets[r.Agent] != "":
		return p.budgets[r.Agent]
	case !ok:
		return "no agent " + r.Agent + " is defined"
	case alone != "":
		return alone
	case r.NotBefore > rx.Now:
		return fmt.Sprintf("attempt %d waits a while after the failure", r.Attempt)
	case p.byAgent[r.Agent] >= slots:
		return fmt.Sprintf("%s runs %d at a time", r.Agent, slots)
	case p.total >= s.config().MaxParallel:
		return fmt.Sprintf("the server runs %d at a time", s.config().MaxParallel)
	case r.Cause == task.CauseTick && p.ticked >= s.config().TickConcurrency:
		return fmt.Sprintf("ticks run %d at a time", s.config().TickConcurrency)
	case p.before[r.Agent] > 0:
		return fmt.Sprintf("%d of %s before it", p.before[r.Agent], r.Agent)
	}
	return ""
}
