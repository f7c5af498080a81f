package service

import (
	"cmp"
	"context"
	"strings"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// TickResult is what one round of the scheduler did.
type TickResult struct {
	ID              task.ID
	Queued, Skipped int
}

const tickChunk = 300

// Tick walks the active tasks in queue order, queues a run for each that may
// run, and leaves a receipt for each that it skips. Safe to run twice: a task
// has one open run. It writes in chunks, so that others get their turn.
func (s *Service) Tick(ctx context.Context, cause string) (TickResult, error) {
	var res TickResult
	id, err := mutate(ctx, s, task.SystemActor, func(tx *txn) (task.ID, error) { return tx.BeginTick(cause) })
	if err != nil {
		return res, err
	}
	res.ID = id
	for cursor, more := "", true; more; {
		part, err := mutate(ctx, s, task.SystemActor, func(tx *txn) (tickPart, error) { return tx.tickChunk(id, cursor) })
		if err != nil {
			return res, err
		}
		res.Queued += part.Queued
		res.Skipped += part.Skipped
		cursor, more = part.Next, part.Next != ""
	}
	return res, change(ctx, s, task.SystemActor, func(tx *txn) error {
		if err := tx.EndTick(id, res.Queued, res.Skipped); err != nil {
			return err
		}
		return tx.event(task.EvTick, task.Event{}, changes{"cause": cause, "queued": res.Queued, "skipped": res.Skipped})
	})
}

type tickPart struct {
	Queued, Skipped int
	Next            string
}

func (tx *txn) tickChunk(id task.ID, cursor string) (part tickPart, err error) {
	list, next, err := tx.TickTasks(tickChunk, cursor)
	if err != nil {
		return part, err
	}
	part.Next = next
	tick := newRun{cause: task.CauseTick, attempt: 1}
	var like []*task.Run // nothing but their tasks and agents tells them apart
	pauses, err := tx.Pauses()
	if err != nil {
		return part, err
	}
	for i := range list {
		tk := &list[i].Task
		def, reason, detail := tx.skip(tk, pauses)
		if reason == "blocked" {
			if detail, err = tx.blockedText(tk); err != nil {
				return part, err
			}
		}
		if reason == "" {
			b, err := tx.s.overBudget(&tx.Rx, tk.Owner)
			if err != nil {
				return part, err
			}
			if b != nil {
				reason, detail = "budget", b.Message()
				if err := tx.noticeBudget(b, tk.ID); err != nil {
					return part, err
				}
			}
		}
		if reason != "" {
			part.Skipped++
			if err := tx.AddSkip(id, tk.ID, reason, detail); err != nil {
				return part, err
			}
			continue
		}
		part.Queued++
		if !list[i].Judged && tx.s.approvalPolicy(def) != task.ApproveAlways {
			like = append(like, tx.newRun(tk, def, tick))
			continue
		}
		if err := tx.createRuns(like, tick); err != nil {
			return part, err
		}
		like = nil
		if _, err := tx.createRun(tk, def, tick); err != nil {
			return part, err
		}
	}
	return part, tx.createRuns(like, tick)
}

// createRuns is createRun for queued runs of tasks that nothing judges, a few
// statements for all.
func (tx *txn) createRuns(list []*task.Run, n newRun) error {
	if len(list) == 0 {
		return nil
	}
	if err := tx.InsertRuns(list); err != nil {
		return err
	}
	tasks, runs := make([]task.ID, len(list)), make([]task.ID, len(list))
	for i, r := range list {
		tasks[i], runs[i] = r.TaskID, r.ID
	}
	if err := tx.keepServers(runs...); err != nil {
		return err
	}
	if err := tx.DeleteStoppedNotices(tasks...); err != nil {
		return err
	}
	tx.signals.Queued = true
	for _, r := range list {
		c := changes{"cause": n.cause, "phase": r.Phase, "attempt": n.attempt}
		if err := tx.runEvent(task.EvRunCreated, r, c); err != nil {
			return err
		}
	}
	return nil
}

// skip returns why a tick leaves a task alone, in a word and a sentence.
func (tx *txn) skip(tk *task.Task, pauses task.Pauses) (def task.Agent, reason, detail string) {
	def, ok := tx.s.agents.Agent(tk.Owner)
	switch {
	case tk.OpenRunID != 0 && tk.OpenRunPhase == task.PhaseApproval:
		return def, "approval", "run " + tk.OpenRunID.String() + " waits for approval"
	case tk.OpenRunID != 0:
		return def, "run open", "run " + tk.OpenRunID.String() + " is " + string(tk.OpenRunPhase)
	case pauses.For(tk.Owner) != nil:
		p := pauses.For(tk.Owner)
		return def, "paused", "by " + task.ActorLabel(p.By) + ": " + p.Brief()
	case !ok:
		return def, "owner missing", "no agent " + tk.Owner + " is defined"
	case !def.Serving:
		return def, "owner invalid", firstProblem(def)
	case def.PullOnly:
		return def, "pull-only", def.PullReason
	case !def.WorksOn(tk.Project):
		return def, "project", def.ID + " works only on " + strings.Join(def.Projects, ", ")
	case tx.s.checkReachesRepository(&tx.Rx, def, tk.Project) != nil:
		return def, "no repository", "workers execute the runs of " + tk.Owner + ", and they cannot reach the repository of " + tk.Project
	case tk.Claim != nil:
		return def, "claimed", "by " + task.ActorLabel(tk.Claim.Holder) + " until " + tk.Claim.ExpiresAt.Minute()
	case tk.QuestionID != 0:
		return def, "question open", "a person must answer first"
	case tk.Awaits != "":
		return def, string(tk.Awaits), awaitsText(tk)
	case tk.Blocked > 0:
		return def, "blocked", "" // the caller names the blockers
	case tk.Failures >= tx.s.config().Attempts:
		return def, "stuck", "its runs failed or were denied; retry one to let it run again"
	}
	return def, "", ""
}

// NoteJob records that a background job ran.
func (s *Service) NoteJob(ctx context.Context, name string, took time.Duration, failure error) error {
	text := ""
	if failure != nil {
		text = failure.Error()
	}
	return change(ctx, s, task.SystemActor, func(tx *txn) error {
		tx.signals.Topics = append(tx.signals.Topics, "scheduler")
		tx.inboxIf(name == task.JobBackup)
		return tx.NoteJob(name, took, text)
	})
}

// JobDone reports whether any of the servers did a job of the calendar, the tick
// or one of those that NoteJob records, since a moment.
func (s *Service) JobDone(ctx context.Context, name string, since time.Time) (bool, error) {
	return read(ctx, s, func(rx *db.Rx) (bool, error) {
		if name == task.JobTick {
			last, err := rx.Ticks(1)
			return len(last) > 0 && last[0].Ended != 0 && last[0].At >= task.TimeFromStd(since), err
		}
		all, err := rx.Jobs()
		return all[name].LastAt >= task.TimeFromStd(since), err
	})
}

// RollUp brings the hourly sums of runs up to date and notes how long the
// queues are now.
func (s *Service) RollUp(ctx context.Context) error {
	depths, err := read(ctx, s, readDepths)
	if err != nil {
		return err
	}
	defer s.pastHours.forget()
	return change(ctx, s, task.SystemActor, func(tx *txn) error {
		if err := tx.NoteDepths(depths); err != nil {
			return err
		}
		return tx.RollUp(tx.Now.Add(-2 * time.Hour))
	})
}

// Sweep drops expired sessions, old idempotency answers and transcripts of
// runs that ended longer ago than they are kept.
func (s *Service) Sweep(ctx context.Context) error {
	err := change(ctx, s, task.SystemActor, func(tx *txn) error {
		if err := tx.dropRemovedTargets(); err != nil {
			return err
		}
		if err := tx.DropDepths(tx.Now.Add(-maxStatDays * 24 * time.Hour)); err != nil {
			return err
		}
		if err := tx.DropHandedOut(tx.Now.Add(-time.Hour)); err != nil {
			return err
		}
		return tx.DropExpired(tx.Now.Add(-idempotencyLife))
	})
	for n := int64(1); n > 0 && err == nil; {
		start := s.config().Now()
		n, err = mutate(ctx, s, task.SystemActor, func(tx *txn) (int64, error) {
			return tx.DropTranscripts(tx.Now.Add(-s.config().KeepTranscripts), 500)
		})
		err = cmp.Or(err, s.leaveTime(ctx, start))
	}
	for n := int64(1); n > 0 && err == nil; {
		n, err = mutate(ctx, s, task.SystemActor, func(tx *txn) (int64, error) {
			return tx.DropLines(tx.Now.Add(-s.config().KeepTranscripts), 500)
		})
	}
	return err
}

// OrphanedFolders returns those of the given run folders that no run will use
// again and that have been kept as long as transcripts.
func (s *Service) OrphanedFolders(ctx context.Context, list []task.RunFolder) ([]task.RunFolder, error) {
	return read(ctx, s, func(rx *db.Rx) ([]task.RunFolder, error) {
		return rx.OrphanedFolders(list, rx.Now.Add(-s.config().KeepTranscripts))
	})
}

// CopyInto writes a checked copy of the database to an empty file.
func (s *Service) CopyInto(ctx context.Context, file string) error { return s.db.CopyInto(ctx, file) }

// Probe reports whether the database is sound and can be written now.
func (s *Service) Probe(ctx context.Context) error {
	return s.db.Probe(ctx)
}

// Fault returns why the store cannot be written now, with what to do, or nil.
func (s *Service) Fault() error { return s.db.Fault() }
