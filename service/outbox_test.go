package service

import (
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

func notifyTargets(kinds ...task.OutKind) func(*Config) {
	return func(c *Config) { c.Notify = append(c.Notify, NotifyTarget{Name: "ops", Kinds: kinds}) }
}

func (inst *instance) outgoing(target string) []task.Outgoing {
	inst.t.Helper()
	list, _, err := inst.s.Outgoing(inst.ctx(), target)
	ok(inst.t, err)
	return list
}

func TestNewInboxEntriesAreSentAsNotifications(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, notifyTargets(task.OutQuestion, task.OutApproval, task.OutFailure, task.OutBlocked))
	inst.oneOfEach()
	got := map[string]string{}
	for _, o := range inst.outgoing("ops") {
		got[string(o.Kind)+" "+o.Path()] = o.Text
	}
	for want, text := range map[string]string{
		"question /tasks/1":    "coder asks: left?",
		"failure /tasks/3":     "planner failed: it broke",
		"blocked /tasks/4":     "waits for #5, which was canceled",
		"approval /approvals/": "waits for approval of a run",
	} {
		found := false
		for k, v := range got {
			found = found || strings.HasPrefix(k, want) && strings.Contains(v, text)
		}
		if !found {
			t.Errorf("%s: %q is missing in %q", want, text, got)
		}
	}
	t.Run("a permission too", func(t *testing.T) {
		if !strings.Contains(strings.Join(values(got), "\n"), "reviewer asks to call bash") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("notices are not sent where they are not configured", func(t *testing.T) {
		equal(t, "lines", len(got), 5)
	})
	t.Run("nothing is sent for a failed write", func(t *testing.T) {
		before := len(inst.outgoing("ops"))
		_, err := inst.s.Ask(inst.ctx(), coder, 1, "again?", false)
		refused(t, err, task.CodeQuestionOpen)
		equal(t, "lines", len(inst.outgoing("ops")), before)
	})
}

func values(m map[string]string) (list []string) {
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

func TestTheOutboxKeepsUnsentNotifications(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, notifyTargets(task.OutNotice))
	tk := inst.create(maya, "coder", noStart, title("Hostile  title"))
	must(inst.s.Notify(inst.ctx(), coder, tk.ID, "one\r\nBcc: all@example.org\x07\u202e"+strings.Repeat("x", 999)))
	first := inst.outgoing("ops")
	equal(t, "lines", len(first), 1)
	t.Run("as one short line", func(t *testing.T) {
		if s := first[0].Text; strings.ContainsAny(s, "\r\n\x07\u202e") || len([]rune(s)) > 301 ||
			!strings.HasPrefix(s, "#1 Hostile title: coder says: one Bcc: all") {
			t.Errorf("got %q", s)
		}
	})
	t.Run("until the next attempt", func(t *testing.T) {
		equal(t, "dropped", must(inst.s.OutgoingFailed(inst.ctx(), first,
			func(n int) time.Duration { return time.Duration(n) * time.Minute })), 0)
		list, next, err := inst.s.Outgoing(inst.ctx(), "ops")
		ok(t, err)
		equal(t, "due now", len(list), 0)
		equal(t, "due next", next, inst.s.Now().Add(time.Minute))
		inst.Forward(time.Minute)
		equal(t, "tries", inst.outgoing("ops")[0].Tries, 1)
	})
	t.Run("or until it is sent", func(t *testing.T) {
		ok(t, inst.s.OutgoingSent(inst.ctx(), first))
		list, next, err := inst.s.Outgoing(inst.ctx(), "ops")
		ok(t, err)
		equal(t, "remaining", len(list), 0)
		equal(t, "next", next, 0)
	})
	t.Run("or dropped", func(t *testing.T) {
		must(inst.s.Notify(inst.ctx(), coder, tk.ID, "two"))
		equal(t, "dropped", must(inst.s.OutgoingFailed(inst.ctx(), inst.outgoing("ops"), func(int) time.Duration { return -1 })), 1)
		equal(t, "remaining", len(inst.outgoing("ops")), 0)
	})
	t.Run("or its target is no longer configured", func(t *testing.T) {
		must(inst.s.Notify(inst.ctx(), coder, tk.ID, "three"))
		ok(t, inst.s.Sweep(inst.ctx()))
		equal(t, "remaining while it is configured", len(inst.outgoing("ops")), 1)
		plain := inst.service()
		ok(t, plain.Sweep(inst.ctx()))
		equal(t, "remaining", len(inst.outgoing("ops")), 0)
	})
}

func TestHourlyStatisticsAreCountedIncrementally(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	start := inst.s.Now()
	inst.oneOfEach()
	inst.Forward(time.Hour)
	done := inst.create(maya, "coder", noStart)
	must(inst.s.CompleteTask(inst.ctx(), maya, done.ID, "", 0))
	rows := must(inst.s.StatHours(inst.ctx(), vera, task.StatFilter{From: start}))
	equal(t, "hours", len(rows), 2)
	first, second := rows[0], rows[1]
	equal(t, "first hour", first.Hour, start)
	equal(t, "created", first.Created, 8)
	equal(t, "canceled", first.Canceled, 1)
	equal(t, "asked", first.Asked, 6)
	equal(t, "failed runs", first.RunsFailed, 1)
	equal(t, "second hour", second, task.StatRow{Hour: start.Add(time.Hour), Created: 1, Done: 1})
	t.Run("by agent and model", func(t *testing.T) {
		groups := must(inst.s.StatGroups(inst.ctx(), vera, task.StatFilter{From: start, Agent: "planner"}))
		runs := 0
		for _, g := range groups {
			equal(t, "agent", g.Agent, "planner")
			runs += g.Runs()
		}
		equal(t, "runs", runs, 1)
	})
	t.Run("a repeated count is the same", func(t *testing.T) {
		ok(t, inst.s.RollUp(inst.ctx()))
		ok(t, inst.s.RollUp(inst.ctx()))
		again := must(inst.s.StatHours(inst.ctx(), vera, task.StatFilter{From: start}))
		equal(t, "first hour", again[0], first)
	})
	t.Run("within limits, for callers who may read", func(t *testing.T) {
		_, err := inst.s.StatHours(inst.ctx(), vera, task.StatFilter{From: start.Add(-500 * 24 * time.Hour)})
		refused(t, err, task.CodeInvalidField)
		_, err = inst.s.StatGroups(inst.ctx(), task.Actor{}, task.StatFilter{})
		refused(t, err, task.CodeUnauthorized)
	})
}
