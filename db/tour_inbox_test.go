package db_test

import (
	"context"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

// inbox asks for each part of the inbox, snoozes, and empties the outbox;
// plain is the same instance without services outside.
func inbox(t *testing.T, s, plain *service.Service) {
	ctx := context.Background()
	for _, kind := range append(task.InboxKinds, "") {
		must[service.InboxPage](t)(s.InboxPage(ctx, admin, task.InboxQuery{Only: kind, Limit: 1}, 0))
	}
	must[task.Firsts](t)(s.Firsts(ctx, admin))
	later := s.Now().Add(time.Hour)
	for _, kind := range task.InboxKinds {
		if _, err := s.Snooze(ctx, admin, kind, 999, later); !task.IsCode(err, task.CodeNotFound) {
			t.Fatalf("%s: %v", kind, err)
		}
	}
	k := create(t, s, admin, task.New{NoStart: true})
	asked := must[task.Message](t)(s.Ask(ctx, agent, k.ID, "?", false))
	told := must[task.Message](t)(s.Notify(ctx, agent, k.ID, "!"))
	must[task.Message](t)(s.AcknowledgeNotice(ctx, admin, told.ID))
	must[task.Message](t)(s.RestoreNotice(ctx, admin, told.ID))
	must[task.Snooze](t)(s.Snooze(ctx, admin, task.WaitQuestion, asked.ID, later))
	must[task.InboxTotals](t)(s.Snoozed(ctx, admin))
	ok(t, s.Wake(ctx, admin, task.WaitQuestion, asked.ID))
	must[task.Snooze](t)(s.Snooze(ctx, admin, task.WaitQuestion, asked.ID, s.Now()+5))
	for n := 0; n == 0; {
		n = must[int](t)(s.WakeSnoozed(ctx)) // as soon as the 5 ms are over
	}
	for _, sum := range []func(context.Context, task.Actor, task.StatFilter) ([]task.StatRow, error){s.StatHours, s.StatGroups} {
		must[[]task.StatRow](t)(sum(ctx, admin, task.StatFilter{Agent: "coder"}))
	}
	ok(t, s.Sweep(ctx))
	list, _, err := s.Outgoing(ctx, "ops")
	ok(t, err)
	must[int](t)(s.NotTold(ctx, list[:1], func(int) time.Duration { return time.Hour }))
	ok(t, s.Told(ctx, list[1:]))
	_, _, err = s.Outgoing(ctx, "ops")
	ok(t, err)
	ok(t, plain.Sweep(ctx)) // it knows no ops
}
