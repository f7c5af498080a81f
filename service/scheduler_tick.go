package service

import (
	"cmp"
	"context"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// TickResult tells what one round of the scheduler did.
type TickResult struct {
	ID              task.ID
	Queued, Skipped int
}

const tickChunk = 200

// Tick walks the active tasks in queue order, queues a run for each that may
// run, and leaves a receipt for each that it skips. Safe to run twice: a task
// has one open run. It writes in chunks, so that others get their turn.
func (s *Service) Tick(ctx context.Context, cause string) (TickResult, error) {
	var res TickResult
	id, err := mutate(ctx, s, task.SystemActor, func(t *tx) (task.ID, error) { return t.BeginTick(cause) })
	if err != nil {
		return res, err
	}
	res.ID = id
	for cursor, more := "", true; more; {
		part, err := mutate(ctx, s, task.SystemActor, func(t *tx) (tickPart, error) { return t.tickChunk(id, cursor) })
		if err != nil {
			return res, err
		}
		res.Queued += part.Queued
		res.Skipped += part.Skipped
		cursor, more = part.Next, part.Next != ""
	}
	return res, change(ctx, s, task.SystemActor, func(t *tx) error {
		if err := t.EndTick(id, res.Queued, res.Skipped); err != nil {
			return err
		}
		return t.event(task.EvTick, task.Event{}, changes{"cause": cause, "queued": res.Queued, "skipped": res.Skipped})
	})
}

type tickPart struct {
	Queued, Skipped int
	Next            string
}

func (t *tx) tickChunk(id task.ID, cursor string) (part tickPart, err error) {
	list, next, err := t.OpenBare(task.Active, tickChunk, cursor)
	if err != nil {
		return part, err
	}
	part.Next = next
	// Read before the loop: skip itself has nothing that could fail.
	if _, err := t.pausedBy(""); err != nil {
		return part, err
	}
	for _, k := range list {
		def, reason, detail := t.skip(k)
		if reason == "blocked" {
			if detail, err = t.heldUp(k); err != nil {
				return part, err
			}
		}
		if reason == "" {
			b, err := t.s.overBudget(&t.Rx, k.Owner)
			if err != nil {
				return part, err
			}
			if b != nil {
				reason, detail = "budget", b.Message()
				if err := t.tellBudget(b, k.ID); err != nil {
					return part, err
				}
			}
		}
		if reason != "" {
			part.Skipped++
			if err := t.AddSkip(id, k.ID, reason, detail); err != nil {
				return part, err
			}
			continue
		}
		part.Queued++
		if _, err := t.createRun(k, def, newRun{cause: task.CauseTick, attempt: 1}); err != nil {
			return part, err
		}
	}
	return part, nil
}

// skip tells why a tick leaves a task alone, in a word and a sentence.
func (t *tx) skip(k *task.Task) (def task.Agent, reason, detail string) {
	def, ok := t.s.agents.Agent(k.Owner)
	switch {
	case k.OpenRunID != 0 && k.OpenRunPhase == task.PhaseApproval:
		return def, "approval", "run " + k.OpenRunID.String() + " waits for approval"
	case k.OpenRunID != 0:
		return def, "run open", "run " + k.OpenRunID.String() + " is " + string(k.OpenRunPhase)
	case t.pauses.Of(k.Owner) != nil:
		p := t.pauses.Of(k.Owner)
		return def, "paused", "by " + p.By + ": " + p.Brief()
	case !ok:
		return def, "owner missing", "no agent " + k.Owner + " is defined"
	case !def.Serving:
		return def, "owner invalid", firstProblem(def)
	case def.PullOnly:
		return def, "pull-only", def.PullReason
	case k.Claim != nil:
		return def, "claimed", "by " + k.Claim.Holder + " until " + k.Claim.ExpiresAt.String()
	case k.QuestionID != 0:
		return def, "question open", "a person must answer first"
	case k.Blocked > 0:
		return def, "blocked", "" // the caller names the blockers
	case k.Failures >= t.s.cfg.Attempts:
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
	return change(ctx, s, task.SystemActor, func(t *tx) error {
		t.topics = append(t.topics, "scheduler")
		t.inboxIf(name == task.JobBackup)
		return t.NoteJob(name, took, text)
	})
}

// RollUp brings the hourly sums of runs up to date and notes how long the
// queues are now.
func (s *Service) RollUp(ctx context.Context) error {
	depths, err := read(ctx, s, readDepths)
	if err != nil {
		return err
	}
	return change(ctx, s, task.SystemActor, func(t *tx) error {
		if err := t.NoteDepths(depths); err != nil {
			return err
		}
		return t.RollUp(t.Now.Add(-2 * time.Hour))
	})
}

// Sweep drops expired sessions, old idempotency answers and transcripts of
// runs that ended longer ago than they are kept.
func (s *Service) Sweep(ctx context.Context) error {
	err := change(ctx, s, task.SystemActor, func(t *tx) error {
		if err := t.dropStrangers(); err != nil {
			return err
		}
		if err := t.DropDepths(t.Now.Add(-maxStatDays * 24 * time.Hour)); err != nil {
			return err
		}
		if err := t.DropHandedOut(t.Now.Add(-time.Hour)); err != nil {
			return err
		}
		return t.DropExpired(t.Now.Add(-idempotencyLife))
	})
	for n := int64(1); n > 0 && err == nil; {
		start := s.cfg.Now()
		n, err = mutate(ctx, s, task.SystemActor, func(t *tx) (int64, error) {
			return t.DropTranscripts(t.Now.Add(-s.cfg.KeepTranscripts), 500)
		})
		err = cmp.Or(err, s.leaveTime(ctx, start))
	}
	for n := int64(1); n > 0 && err == nil; {
		n, err = mutate(ctx, s, task.SystemActor, func(t *tx) (int64, error) {
			return t.DropLines(t.Now.Add(-s.cfg.KeepTranscripts), 500)
		})
	}
	return err
}

// OrphanedFolders returns those of the folders of runs to which nobody comes back,
// and which have been kept as long as transcripts are.
func (s *Service) OrphanedFolders(ctx context.Context, list []task.RunFolder) ([]task.RunFolder, error) {
	return read(ctx, s, func(rx *db.Rx) ([]task.RunFolder, error) {
		return rx.OrphanedFolders(list, rx.Now.Add(-s.cfg.KeepTranscripts))
	})
}

// Backup writes a checked copy of the database to a new file.
func (s *Service) Backup(ctx context.Context, to string) error { return s.db.Backup(ctx, to) }

// Probe reports whether the database is sound and can be written now.
func (s *Service) Probe(ctx context.Context) error {
	return s.db.Probe(ctx)
}

// Fault returns why the store cannot be written now, with what to do, or nil.
func (s *Service) Fault() error { return s.db.Fault() }
