package jobs

import (
	"context"

	"taskyard/runner/supervise"
	"taskyard/task"
)

// inbox returns the messages from people to a working run, until stop is
// called.
func (j *Jobs) inbox(s *sink) (in *supervise.Inbox, stop func()) {
	ctx, sub := context.Background(), j.opt.Service.FollowRunMessages(s.run.ID)
	failed := func(what string, err error) {
		if err != nil && !task.IsCode(err, task.CodeStaleLease) {
			s.log.Error(what, "error", err)
		}
	}
	return &supervise.Inbox{
		Arrived: sub.C,
		Queued: func() []task.RunMessage {
			list, err := j.opt.Service.QueuedRunMessages(ctx, s.run.ID, s.run.Lease)
			failed("messages to the run not read", err)
			return list
		},
		Deliver: func(id task.ID) bool {
			_ = s.flush() // write earlier events first
			err := j.opt.Service.DeliverRunMessage(ctx, s.run.ID, s.run.Lease, id)
			failed("message to the run not delivered", err)
			return err == nil
		},
	}, sub.Close
}
