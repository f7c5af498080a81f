package db_test

import (
	"context"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

// inbox reads each part of the inbox, snoozes entries, and empties the outbox. plain
// is the same instance without external notifications.
func inbox(t *testing.T, s, plain *service.Service) {
	ctx := context.Background()
	for _, kind := range append(task.InboxKinds, "") {
		must(s.InboxPage(ctx, admin, task.InboxQuery{Only: kind, Limit: 1}, 0))
	}
	must(s.Milestones(ctx, admin, true))
	later := s.Now().Add(time.Hour)
	for _, kind := range task.InboxKinds {
		if _, err := s.Snooze(ctx, admin, kind, 999, later); !task.IsCode(err, task.CodeNotFound) {
			t.Fatalf("%s: %v", kind, err)
		}
	}
	tk := create(t, s, admin, task.New{NoStart: true})
	asked := must(s.Ask(ctx, agent, tk.ID, "?", false))
	notice := must(s.Notify(ctx, agent, tk.ID, "!"))
	must(s.AcknowledgeNotice(ctx, admin, notice.ID))
	must(s.RestoreNotice(ctx, admin, notice.ID))
	must(s.Snooze(ctx, admin, task.WaitQuestion, asked.ID, later))
	must(s.Snoozed(ctx, admin))
	ok(t, s.Wake(ctx, admin, task.WaitQuestion, asked.ID))
	must(s.Snooze(ctx, admin, task.WaitQuestion, asked.ID, s.Now()+50))
	for n := 0; n == 0; {
		n = must(s.WakeSnoozed(ctx)) // as soon as the 50 ms are over
	}
	for _, sum := range []func(context.Context, task.Actor, task.StatFilter) ([]task.StatRow, error){s.StatHours, s.StatGroups} {
		must(sum(ctx, admin, task.StatFilter{Agent: "coder"}))
	}
	ok(t, s.Sweep(ctx))
	list, _, err := s.Outgoing(ctx, "ops")
	ok(t, err)
	must(s.OutgoingFailed(ctx, list[:1], func(int) time.Duration { return time.Hour }))
	ok(t, s.OutgoingSent(ctx, list[1:]))
	_, _, err = s.Outgoing(ctx, "ops")
	ok(t, err)
	ok(t, plain.Sweep(ctx)) // it has no target ops
}
