package jobs

import (
	"time"

	"taskyard/service"
	"taskyard/task"
)

// mergers is how many merges run in parallel, each into a different target.
const mergers = 2

// merge executes queued merges as they arrive, and retries those that were
// interrupted or wait.
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
