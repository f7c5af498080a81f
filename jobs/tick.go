package jobs

import (
	"context"
	"time"

	"taskyard/internal/sleep"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// tick is one round of the scheduler.
func (j *Jobs) tick(cause string) func(context.Context) error {
	return func(ctx context.Context) error {
		res, err := j.opt.Service.Tick(ctx, cause)
		j.log.Info("tick", "cause", cause, "queued", res.Queued, "skipped", res.Skipped)
		return err
	}
}

// endExpired ends runs whose lease has expired because nobody executes them. Runs of
// this process have a supervisor; their lease expires only if it could not be
// renewed, and the next heartbeat renews it.
func (j *Jobs) endExpired(ctx context.Context) error {
	list, err := j.opt.Service.LeaseLost(ctx)
	if err != nil {
		return err
	}
	busy := j.inFlight()
	for _, r := range list {
		if busy[r.TaskID] {
			continue
		}
		if err := j.endLost(ctx, r, "its runner sent no heartbeat", j.opt.Service.LoseLate); err != nil {
			return err
		}
	}
	return nil
}

// recover ends the runs that a previous server left: first their processes,
// then the runs, before anything is dispatched.
func (j *Jobs) recover(ctx context.Context) error {
	list, err := j.opt.Service.Orphans(ctx)
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.Worker != 0 {
			continue // its worker may still be running; the lease decides
		}
		if err := j.endLost(ctx, r, "the server ended while it ran", j.opt.Service.LoseRun); err != nil {
			return err
		}
	}
	j.salvageEnded(ctx)
	if j.opt.Recovered != nil {
		if err := j.opt.Recovered(); err != nil {
			return err
		}
	}
	j.copied.Store(false)
	return nil
}

func (j *Jobs) endLost(ctx context.Context, r *task.Run, reason string, end func(context.Context, *task.Run, string) error) error {
	killed, err := j.killOrphan(ctx, r)
	if err != nil {
		j.log.Error("failed to kill an orphaned process", "run_id", r.ID, "error", err)
	}
	j.killed.Add(int64(killed))
	if err := j.recordWork(ctx, r, j.salvage(ctx, r)); err != nil {
		j.log.Error("failed to store the work of a lost run", "run_id", r.ID, "error", err)
	}
	j.log.Warn("run lost", "run_id", r.ID, "task_id", r.TaskID, "killed", killed, "reason", reason)
	err = end(ctx, r, reason)
	if task.IsCode(err, task.CodeStaleLease) || task.IsCode(err, task.CodeRunEnded) {
		return nil // already ended
	}
	return err
}

// killOrphan kills the remaining processes of a run on this machine. Runs of
// workers end with their worker. In a copied folder, processes may belong to
// the original.
func (j *Jobs) killOrphan(ctx context.Context, r *task.Run) (int, error) {
	if r.Worker != 0 || j.copied.Load() {
		return 0, nil
	}
	return supervise.KillOrphan(ctx, supervise.Process{PID: r.PID, Start: r.PIDStart, BootID: r.BootID, Instance: r.Server}, r.ID)
}

// indexAfter is how long changes are collected before they are indexed.
const indexAfter = 100 * time.Millisecond

// index updates the full-text search shortly after each burst of changes,
// without polling.
func (j *Jobs) index() {
	sub := j.opt.Service.Hub().Subscribe("events")
	defer sub.Close()
	for {
		if ctx, leads := j.opt.Service.Lead(j.ctx); leads {
			if err := j.opt.Service.Index(ctx); err != nil && j.ctx.Err() == nil {
				j.log.Error("failed to update the search", "error", err)
			}
		}
		select {
		case <-j.ctx.Done():
			return
		case <-sub.Done():
			return
		case <-sub.C:
		}
		if !sleep.For(j.ctx, indexAfter) {
			return
		}
	}
}
