package service

import (
	"testing"
	"time"

	"taskyard/task"
)

// inboxCase is something that waits, and how to have it wait again.
type inboxCase struct {
	kind  task.InboxKind
	ref   task.ID
	again func() // ends it and lets the next cause come
}

// oneOfEach has one thing of each kind wait.
func (y *instance) oneOfEach() []inboxCase {
	y.t.Helper()
	asked, told := y.create(maya, "coder", noStart), y.create(maya, "coder", noStart)
	q := must(y.s.Ask(y.ctx(), coder, asked.ID, "left?", false))
	n := must(y.s.Notify(y.ctx(), coder, told.ID, "done half"))
	f := failure(task.PhaseError)
	f.Permanent = true
	broken := y.create(maya, "planner", noStart)
	fails := func() {
		must(y.s.RunNow(y.ctx(), maya, broken.ID))
		y.finish(y.start(), f)
	}
	fails()
	lost := y.create(maya, "coder", noStart)
	blockers := []task.ID{}
	for range 2 {
		blockers = append(blockers, y.create(maya, "coder", noStart).ID)
	}
	must(y.s.SetBlockedBy(y.ctx(), maya, lost.ID, blockers))
	must(y.s.CancelTask(y.ctx(), maya, blockers[0], ""))
	must(y.s.RunNow(y.ctx(), maya, y.create(maya, "reviewer", noStart).ID))
	st := y.start()
	ask := func(tool string) {
		must(y.s.AskPermission(y.ctx(), st.Run.ID, st.Run.Lease, task.Permission{Tool: tool, Input: []byte("{}")}))
	}
	ok(y.t, y.s.RunWorking(y.ctx(), st.Run.ID, st.Run.Lease, 1, "1", "b"))
	ask("bash")
	_, r := y.waits()
	return []inboxCase{
		{task.WaitQuestion, q.ID, func() {
			must(y.s.Reply(y.ctx(), maya, asked.ID, "left"))
			must(y.s.Ask(y.ctx(), coder, asked.ID, "sure?", false))
		}},
		{task.WaitPermission, st.Run.ID, func() {
			must(y.s.AllowPermission(y.ctx(), maya, st.Run.ID, 1, task.ScopeOnce))
			ask("edit")
		}},
		{task.WaitApproval, r.ID, nil},
		{task.WaitStuck, broken.ID, fails},
		{task.WaitLost, lost.ID, func() { must(y.s.CancelTask(y.ctx(), maya, blockers[1], "")) }},
		{task.WaitNotice, n.ID, nil},
	}
}

func (y *instance) waitsFor(a task.Actor, k task.InboxKind) int {
	y.t.Helper()
	b := must(y.s.Inbox(y.ctx(), a))
	shown := map[task.InboxKind]int{
		task.WaitQuestion: len(b.Questions), task.WaitPermission: len(b.Permissions), task.WaitApproval: len(b.Approvals),
		task.WaitStuck: len(b.Stuck), task.WaitLost: len(b.BlockerCanceled), task.WaitNotice: len(b.Notices),
	}[k]
	equal(y.t, "shown and counted of "+string(k), shown, *b.Totals.ByKind(k))
	return shown
}

func TestWhatIsSnoozedStaysAwayFromOnePerson(t *testing.T) {
	y := newInstance(t)
	for _, w := range y.oneOfEach() {
		t.Run(string(w.kind), func(t *testing.T) {
			equal(t, "before", y.waitsFor(maya, w.kind), 1)
			z := must(y.s.Snooze(y.ctx(), maya, w.kind, w.ref, y.s.Now().Add(time.Hour)))
			equal(t, "until", z.Until, y.s.Now().Add(time.Hour))
			equal(t, "event", last(y.kinds(z.TaskID)), task.EvSnoozed)
			equal(t, "for maya", y.waitsFor(maya, w.kind), 0)
			equal(t, "for oleg", y.waitsFor(oleg, w.kind), 1)
			equal(t, "counted", *ptr(must(y.s.Snoozed(y.ctx(), maya))).ByKind(w.kind), 1)
			p := must(y.s.InboxPage(y.ctx(), maya, task.InboxQuery{Limit: 5}, 0))
			equal(t, "listed", p.Snoozed[0].Ref, w.ref)
			ok(t, y.s.Wake(y.ctx(), maya, w.kind, w.ref))
			equal(t, "woken", y.waitsFor(maya, w.kind), 1)
			equal(t, "event of waking", last(y.kinds(z.TaskID)), task.EvWoken)
			before := y.lastEvent()
			ok(t, y.s.Wake(y.ctx(), maya, w.kind, w.ref))
			equal(t, "events of waking twice", y.lastEvent(), before)
			must(y.s.Snooze(y.ctx(), maya, w.kind, w.ref, y.s.Now().Add(time.Hour)))
			if w.again != nil {
				w.again()
				equal(t, "with the next cause", y.waitsFor(maya, w.kind), 1)
				equal(t, "snoozes that still hide something", must(y.s.Snoozed(y.ctx(), maya)).All(), 0)
				return
			}
			ok(t, y.s.Wake(y.ctx(), maya, w.kind, w.ref))
		})
	}
}

func TestWhatIsSnoozedComesBack(t *testing.T) {
	y := newInstance(t)
	all := y.oneOfEach()
	q := all[0]
	must(y.s.Snooze(y.ctx(), maya, q.kind, q.ref, y.s.Now().Add(time.Hour)))
	sub := y.s.Hub().Subscribe("inbox")
	defer sub.Close()
	y.Forward(time.Hour - time.Second)
	equal(t, "woken too early", must(y.s.WakeSnoozed(y.ctx())), 0)
	equal(t, "too early", y.waitsFor(maya, q.kind), 0)
	y.Forward(time.Second)
	equal(t, "in time, even before the job", y.waitsFor(maya, q.kind), 1)
	equal(t, "woken", must(y.s.WakeSnoozed(y.ctx())), 1)
	equal(t, "open pages are told", len(sub.Take()), 1)
	equal(t, "woken again", must(y.s.WakeSnoozed(y.ctx())), 0)
	t.Run("what expires comes back before", func(t *testing.T) {
		a := all[2]
		expires := y.run(a.ref).Approval.ExpiresAt
		z := must(y.s.Snooze(y.ctx(), maya, a.kind, a.ref, expires.Add(time.Hour)))
		equal(t, "until", z.Until, expires.Add(-10*time.Minute))
		y.Forward(z.Until.Sub(y.s.Now()))
		_, err := y.s.Snooze(y.ctx(), maya, a.kind, a.ref, expires)
		refused(t, err, task.CodeExpiresSoon, "decide now")
	})
}

func TestWhoMaySnoozeWhat(t *testing.T) {
	y := newInstance(t)
	q := y.oneOfEach()[0]
	later := y.s.Now().Add(time.Hour)
	before := y.lastEvent()
	try := func(a task.Actor, k task.InboxKind, ref task.ID, until task.Time) error {
		_, err := y.s.Snooze(y.ctx(), a, k, ref, until)
		return err
	}
	t.Run("viewers and agents may not", func(t *testing.T) {
		refused(t, try(vera, q.kind, q.ref, later), task.CodeForbidden)
		refused(t, try(coder, q.kind, q.ref, later), task.CodeForbidden)
		refused(t, y.s.Wake(y.ctx(), vera, q.kind, q.ref), task.CodeForbidden)
	})
	t.Run("a token without a person has no inbox of its own", func(t *testing.T) {
		refused(t, try(task.Actor{Name: "token", Role: task.RoleOperator, TokenID: 3}, q.kind, q.ref, later), task.CodeForbidden, "account")
	})
	t.Run("only what waits", func(t *testing.T) {
		refused(t, try(maya, q.kind, 9999, later), task.CodeNotFound, "no longer waits")
		refused(t, try(maya, task.WaitNotice, q.ref, later), task.CodeNotFound)
		refused(t, try(maya, "mood", q.ref, later), task.CodeInvalidField, "must be one of question, permission, approval, review")
	})
	t.Run("only for a while to come", func(t *testing.T) {
		for _, until := range []task.Time{0, y.s.Now(), y.s.Now().Add(32 * 24 * time.Hour)} {
			refused(t, try(maya, q.kind, q.ref, until), task.CodeInvalidField)
		}
	})
	equal(t, "last event", y.lastEvent(), before)
}

func TestAnAcknowledgmentIsTakenBack(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder", noStart)
	n := must(y.s.Notify(y.ctx(), coder, tk.ID, "half"))
	must(y.s.AcknowledgeNotice(y.ctx(), maya, n.ID))
	must(y.s.RestoreNotice(y.ctx(), maya, n.ID))
	equal(t, "event", last(y.kinds(tk.ID)), task.EvUnacknowledged)
	equal(t, "waits", y.waitsFor(maya, task.WaitNotice), 1)
	before := y.lastEvent()
	must(y.s.RestoreNotice(y.ctx(), maya, n.ID))
	equal(t, "events of doing it twice", y.lastEvent(), before)
	_, err := y.s.RestoreNotice(y.ctx(), maya, 9999)
	refused(t, err, task.CodeNotFound)
	_, err = y.s.RestoreNotice(y.ctx(), vera, n.ID)
	refused(t, err, task.CodeForbidden)
}

func TestTheInboxIsPagedByKind(t *testing.T) {
	y := newInstance(t)
	for range 2 {
		y.oneOfEach()
	}
	for _, kind := range task.InboxKinds {
		t.Run(string(kind), func(t *testing.T) {
			total := *ptr(must(y.s.Inbox(y.ctx(), maya)).Totals).ByKind(kind)
			seen, after := map[task.ID]bool{}, task.ID(0)
			for {
				p := must(y.s.InboxPage(y.ctx(), maya, task.InboxQuery{Only: kind, After: after, Limit: 1}, 0))
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
	_, err := y.s.InboxPage(y.ctx(), maya, task.InboxQuery{Only: "mood", Limit: 5}, 0)
	refused(t, err, task.CodeInvalidField)
	_, err = y.s.InboxPage(y.ctx(), maya, task.InboxQuery{Limit: 51}, 0)
	refused(t, err, task.CodeInvalidField)
}
