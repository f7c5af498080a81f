package jobs

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"taskyard/internal/sleep"
	"taskyard/service"
	"taskyard/task"
)

// Outlet is an external service that receives notifications.
type Outlet struct {
	Name string // as configured
	// Send sends a message; an error means that the service may not have
	// received it. Its text is logged.
	Send func(ctx context.Context, title, text, link string) error
}

const (
	sendLimit = 20 * time.Second
	outLines  = 10 // lines of a message; the others are counted
	maxTries  = 12 // in about an hour
)

// retryDelay returns the delay before the next attempt; negative: never.
func retryDelay(tries int) time.Duration {
	if tries >= maxTries {
		return -1
	}
	return min(5*time.Second<<(tries-1), 15*time.Minute)
}

// outletLoops are the goroutines that send the outboxes of the services.
type outletLoops struct {
	stop context.CancelFunc
	all  sync.WaitGroup
}

// Retarget replaces the services to notify. Messages that are being sent are
// finished first.
func (j *Jobs) Retarget(list []Outlet) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closing {
		return
	}
	former, now := j.outlets, &outletLoops{}
	ctx, stop := context.WithCancel(j.ctx)
	j.outlets, now.stop = now, stop
	if former != nil {
		former.stop()
	}
	j.loops.Add(len(list))
	for _, o := range list {
		now.all.Go(func() {
			defer j.loops.Done()
			if former != nil {
				former.all.Wait()
			}
			j.emptyOutbox(ctx, o)
		})
	}
}

// emptyOutbox sends the outbox of one service until ctx ends. Lines that arrive
// while a message is being sent become one message.
func (j *Jobs) emptyOutbox(ctx context.Context, o Outlet) {
	sub := j.opt.Service.Hub().Subscribe(service.TopicOutbox)
	defer sub.Close()
	for ctx.Err() == nil {
		lead, leads := j.opt.Service.Lead(j.ctx)
		list, next, err := j.opt.Service.Outgoing(lead, o.Name)
		wait := time.Minute
		switch {
		case !leads: // another server sends them
		case err != nil:
			j.log.Error("failed to read the outbox", "service", o.Name, "error", err)
		case len(list) > 0:
			j.deliver(ctx, o, list)
			continue
		case next != 0:
			wait = max(min(next.Sub(j.opt.Service.Now()), time.Hour), 10*time.Millisecond)
		default:
			wait = time.Hour
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		case <-sub.C:
		}
	}
}

// deliver sends one message for all lines. It records that only afterwards, so
// that a line may be sent twice, but is never lost. It waits between attempts
// until ctx ends.
func (j *Jobs) deliver(ctx context.Context, o Outlet, list []task.Outgoing) {
	title, text, link := j.message(list)
	limited, cancel := context.WithTimeout(j.ctx, sendLimit)
	defer cancel()
	sent := o.Send(limited, title, text, link)
	if j.ctx.Err() != nil && sent != nil {
		return // sent after the next start
	}
	if sent == nil {
		// Record it even during a stop, or it would be sent again.
		if err := j.opt.Service.OutgoingSent(context.WithoutCancel(j.ctx), list); err != nil {
			j.log.Error("failed to empty the outbox", "service", o.Name, "error", err)
			sleep.For(ctx, time.Minute) // otherwise it would be sent again at once
		}
		return
	}
	dropped, err := j.opt.Service.OutgoingFailed(j.ctx, list, j.opt.TryAgain)
	if err != nil {
		j.log.Error("failed to update the outbox", "service", o.Name, "error", err)
		sleep.For(ctx, time.Minute)
	}
	j.log.Warn("failed to send notices", "service", o.Name, "notices", len(list), "tries", list[0].Tries+1, "dropped", dropped, "error", sent)
}

// outTitles are ASCII, because they become headers.
var outTitles = map[task.OutKind]string{
	task.OutQuestion: "a question from an agent", task.OutApproval: "a run waits for approval", task.OutFailure: "a task failed",
	task.OutBlocked: "a task is blocked", task.OutNotice: "a message from an agent",
}

// message summarizes lines: one line links to its own decision, several link to
// the inbox.
func (j *Jobs) message(list []task.Outgoing) (title, text, link string) {
	base := strings.TrimSuffix(j.opt.PublicURL, "/")
	if len(list) == 1 {
		return "Taskyard: " + outTitles[list[0].Kind], list[0].Text, base + list[0].Path()
	}
	lines := make([]string, 0, outLines+1)
	for i := range list[:min(len(list), outLines)] {
		lines = append(lines, list[i].Text)
	}
	if n := len(list) - outLines; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return fmt.Sprintf("Taskyard: %d things wait for you", len(list)), strings.Join(lines, "\n"), base + "/"
}
