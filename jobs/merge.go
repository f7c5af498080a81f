package jobs

import (
	"time"

	"taskyard/service"
	"taskyard/task"
)

// mergers is how many merges are made at a time, each into a target of its own.
const mergers = 2

// merge makes the merges of the queue as they come, and again those that were
// cut off or wait.
func (j *Jobs) merge() {
	sub := j.opt.Service.Hub().Subscribe(service.TopicMerges)
	defer sub.Close()
	for j.ctx.Err() == nil {
		ctx, leads := j.opt.Service.Lead(j.ctx)
		later := maxSleep
		var did bool
		var at task.Time
		var err error
		if leads {
			did, at, err = j.opt.Service.MergeNext(ctx)
		}
		switch {
		case j.ctx.Err() != nil:
			return
		case err != nil:
			j.log.Error("failed to merge; trying again", "error", err)
			later = 5 * time.Second
		case did:
			continue
		case at != 0:
			later = min(max(at.Sub(j.opt.Service.Now()), time.Millisecond), maxSleep)
		}
		select {
		case <-j.ctx.Done():
		case <-sub.C:
		case <-time.After(later):
		}
	}
}
