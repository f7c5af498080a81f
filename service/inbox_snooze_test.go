package service

import (
	"testing"
	"time"

	"taskyard/task"
)

// inboxCase is an inbox entry, and how to create it again.
type inboxCase struct {
	kind  task.InboxKind
	ref   task.ID
	again func() // ends the entry and causes a new one
}

// oneOfEach creates one inbox entry of each kind.
func (inst *instance) oneOfEach() []inboxCase {
	inst.t.Helper()
	asked, noticed := inst.create(maya, "coder", noStart), inst.create(maya, "coder", noStart)
	q := must(inst.s.Ask(inst.ctx(), coder, asked.ID, "left?", false))
	n := must(inst.s.Notify(inst.ctx(), coder, noticed.ID, "done half"))
	f := failure(task.PhaseError)
	f.Permanent = true
	broken := inst.create(maya, "planner", noStart)
	fails := func() {
		inst.finish(inst.runTask(broken.ID), f)
	}
	fails()
	lost := inst.create(maya, "coder", noStart)
	blockers := []task.ID{}
	for range 2 {
		blockers = append(blockers, inst.create(maya, "coder", noStart).ID)
	}
	must(inst.s.SetBlockedBy(inst.ctx(), maya, lost.ID, blockers))
	must(inst.s.CancelTask(inst.ctx(), maya, blockers[0], ""))
	st := inst.runTask(inst.create(maya, "reviewer", noStart).ID)
	ask := func(tool string) {
		must(inst.s.AskPermission(inst.ctx(), st.Run.ID, st.Run.Lease, task.Permission{Tool: tool, Input: []byte("{}")}))
	}
	ok(inst.t, inst.s.RunWorking(inst.ctx(), st.Run.ID, st.Run.Lease, 1, "1", "b"))
	ask("bash")
	_, r := inst.waitingTask()
	return []inboxCase{
		{task.WaitQuestion, q.ID, func() {
			must(inst.s.Reply(inst.ctx(), maya, asked.ID, "left"))
			must(inst.s.Ask(inst.ctx(), coder, asked.ID, "sure?", false))
		}},
		{task.WaitPermission, st.Run.ID, func() {
			must(inst.s.AllowPermission(inst.ctx(), maya, st.Run.ID, 1, task.ScopeOnce))
			ask("edit")
		}},
		{task.WaitApproval, r.ID, nil},
		{task.WaitStuck, broken.ID, fails},
		{task.WaitLost, lost.ID, func() { must(inst.s.CancelTask(inst.ctx(), maya, blockers[1], "")) }},
		{task.WaitNotice, n.ID, nil},
	}
}

func (inst *instance) countEntries(a task.Actor, k task.InboxKind) int {
	inst.t.Helper()
	b := must(inst.s.Inbox(inst.ctx(), a))
	shown := map[task.InboxKind]int{
		task.WaitQuestion: len(b.Questions), task.WaitPermission: len(b.Permissions), task.WaitApproval: len(b.Approvals),
		task.WaitStuck: len(b.Stuck), task.WaitLost: len(b.BlockerCanceled), task.WaitNotice: len(b.Notices),
	}[k]
	equal(inst.t, "shown and counted of "+string(k), shown, *b.Totals.ByKind(k))
	return shown
}

func TestASnoozedEntryIsHiddenFromOnePerson(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for _, w := range inst.oneOfEach() {
		t.Run(string(w.kind), func(t *testing.T) {
			equal(t, "before", inst.countEntries(maya, w.kind), 1)
			z := must(inst.s.Snooze(inst.ctx(), maya, w.kind, w.ref, inst.s.Now().Add(time.Hour)))
			equal(t, "until", z.Until, inst.s.Now().Add(time.Hour))
			equal(t, "event", last(inst.kinds(z.TaskID)), task.EvSnoozed)
			equal(t, "for maya", inst.countEntries(maya, w.kind), 0)
			equal(t, "for oleg", inst.countEntries(oleg, w.kind), 1)
			equal(t, "counted", *ptr(must(inst.s.Snoozed(inst.ctx(), maya))).ByKind(w.kind), 1)
			p := must(inst.s.InboxPage(inst.ctx(), maya, task.InboxQuery{Limit: 5}, 0))
			equal(t, "listed", p.Snoozed[0].Ref, w.ref)
			ok(t, inst.s.Wake(inst.ctx(), maya, w.kind, w.ref))
			equal(t, "woken", inst.countEntries(maya, w.kind), 1)
			equal(t, "event of the wake-up", last(inst.kinds(z.TaskID)), task.EvWoken)
			before := inst.lastEvent()
			ok(t, inst.s.Wake(inst.ctx(), maya, w.kind, w.ref))
			equal(t, "last event after waking twice", inst.lastEvent(), before)
			must(inst.s.Snooze(inst.ctx(), maya, w.kind, w.ref, inst.s.Now().Add(time.Hour)))
			if w.again != nil {
				w.again()
				equal(t, "after the next cause", inst.countEntries(maya, w.kind), 1)
				equal(t, "active snoozes", must(inst.s.Snoozed(inst.ctx(), maya)).All(), 0)
				return
			}
			ok(t, inst.s.Wake(inst.ctx(), maya, w.kind, w.ref))
		})
	}
}

func TestASnoozedEntryReturns(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	all := inst.oneOfEach()
	q := all[0]
	must(inst.s.Snooze(inst.ctx(), maya, q.kind, q.ref, inst.s.Now().Add(time.Hour)))
	sub := inst.s.Hub().Subscribe("inbox")
	defer sub.Close()
	inst.Forward(time.Hour - time.Second)
	equal(t, "woken too early", must(inst.s.WakeSnoozed(inst.ctx())), 0)
	equal(t, "too early", inst.countEntries(maya, q.kind), 0)
	inst.Forward(time.Second)
	equal(t, "on time, even before the job", inst.countEntries(maya, q.kind), 1)
	equal(t, "woken", must(inst.s.WakeSnoozed(inst.ctx())), 1)
	equal(t, "open pages are notified", len(sub.Drain()), 1)
	equal(t, "woken again", must(inst.s.WakeSnoozed(inst.ctx())), 0)
	t.Run("an entry that expires earlier returns before", func(t *testing.T) {
		a := all[2]
		expires := inst.run(a.ref).Approval.ExpiresAt
		z := must(inst.s.Snooze(inst.ctx(), maya, a.kind, a.ref, expires.Add(time.Hour)))
		equal(t, "until", z.Until, expires.Add(-10*time.Minute))
		inst.Forward(z.Until.Sub(inst.s.Now()))
		_, err := inst.s.Snooze(inst.ctx(), maya, a.kind, a.ref, expires)
		refused(t, err, task.CodeExpiresSoon, "decide now")
	})
}

func TestWhoMaySnooze(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	q := inst.oneOfEach()[0]
	later := inst.s.Now().Add(time.Hour)
	before := inst.lastEvent()
	try := func(a task.Actor, k task.InboxKind, ref task.ID, until task.Time) error {
		_, err := inst.s.Snooze(inst.ctx(), a, k, ref, until)
		return err
	}
	t.Run("viewers and agents may not", func(t *testing.T) {
		refused(t, try(vera, q.kind, q.ref, later), task.CodeForbidden)
		refused(t, try(coder, q.kind, q.ref, later), task.CodeForbidden)
		refused(t, inst.s.Wake(inst.ctx(), vera, q.kind, q.ref), task.CodeForbidden)
	})
	t.Run("a token without a person has no inbox", func(t *testing.T) {
		refused(t, try(task.Actor{Name: "token", Role: task.RoleOperator, TokenID: 3}, q.kind, q.ref, later), task.CodeForbidden, "account")
	})
	t.Run("only waiting entries", func(t *testing.T) {
		refused(t, try(maya, q.kind, 9999, later), task.CodeNotFound, "no longer waiting")
		refused(t, try(maya, task.WaitNotice, q.ref, later), task.CodeNotFound)
		refused(t, try(maya, "mood", q.ref, later), task.CodeInvalidField, "must be one of question, permission, approval, review")
	})
	t.Run("only until a time in the future", func(t *testing.T) {
		for _, until := range []task.Time{0, inst.s.Now(), inst.s.Now().Add(32 * 24 * time.Hour)} {
			refused(t, try(maya, q.kind, q.ref, until), task.CodeInvalidField)
		}
	})
	equal(t, "last event", inst.lastEvent(), before)
}

func TestAnAcknowledgmentIsUndone(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart)
	n := must(inst.s.Notify(inst.ctx(), coder, tk.ID, "half"))
	must(inst.s.AcknowledgeNotice(inst.ctx(), maya, n.ID))
	must(inst.s.RestoreNotice(inst.ctx(), maya, n.ID))
	equal(t, "event", last(inst.kinds(tk.ID)), task.EvUnacknowledged)
	equal(t, "waits", inst.countEntries(maya, task.WaitNotice), 1)
	before := inst.lastEvent()
	must(inst.s.RestoreNotice(inst.ctx(), maya, n.ID))
	equal(t, "last event after doing it twice", inst.lastEvent(), before)
	_, err := inst.s.RestoreNotice(inst.ctx(), maya, 9999)
	refused(t, err, task.CodeNotFound)
	_, err = inst.s.RestoreNotice(inst.ctx(), vera, n.ID)
	refused(t, err, task.CodeForbidden)
}

func TestTheInboxIsPagedByKind(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for range 2 {
		inst.oneOfEach()
	}
	for _, kind := range task.InboxKinds {
		t.Run(string(kind), func(t *testing.T) {
			total := *ptr(must(inst.s.Inbox(inst.ctx(), maya)).Totals).ByKind(kind)
			seen, after := map[task.ID]bool{}, task.ID(0)
			for {
				p := must(inst.s.InboxPage(inst.ctx(), maya, task.InboxQuery{Only: kind, After: after, Limit: 1}, 0))
				for _, i := range append(append(append(p.Questions, p.Stuck...), p.BlockerCanceled...), p.Notices...) {
					seen[max(i.MessageID, 0)<<32+i.TaskID] = true
				}
				for _, r := range append(p.Approvals, p.Permissions...) {
					seen[r.ID] = true
				}
				if after = p.Next; after == 0 {
					break
				}
			}
			equal(t, "entries on all pages", len(seen), total)
		})
	}
	_, err := inst.s.InboxPage(inst.ctx(), maya, task.InboxQuery{Only: "mood", Limit: 5}, 0)
	refused(t, err, task.CodeInvalidField)
	_, err = inst.s.InboxPage(inst.ctx(), maya, task.InboxQuery{Limit: 51}, 0)
	refused(t, err, task.CodeInvalidField)
}
