package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// Why returns why a task is or is not running, the most decisive reason first.
// Error: unknown id.
func (s *Service) Why(ctx context.Context, a task.Actor, id task.ID) (list []task.Reason, err error) {
	if err := s.allowedOwn(a, task.Read); err != nil {
		return nil, err
	}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error {
		tk, err := s.find(rx, a, id, false)
		if err != nil {
			return err
		}
		open, err := rx.OpenRun(id)
		if err != nil {
			return err
		}
		list, err = s.why(rx, tk, open, time.UTC)
		return err
	})
	return list, err
}

// diagnosis gathers the reasons of one task.
type diagnosis struct {
	*db.Rx
	s    *Service
	tk   *task.Task
	open *task.Run      // open run, or nil
	zone *time.Location // in which times are told
	list []task.Reason
}

func (w *diagnosis) add(code task.WhyCode, r task.Reason, format string, args ...any) {
	r.Code, r.Message = code, fmt.Sprintf(format, args...)
	w.list = append(w.list, r)
}

func (s *Service) why(rx *db.Rx, tk *task.Task, open *task.Run, zone *time.Location) ([]task.Reason, error) {
	w := &diagnosis{Rx: rx, s: s, tk: tk, open: open, zone: zone, list: []task.Reason{}}
	switch {
	case tk.Status.Archived():
		w.add(task.WhyArchived, task.Reason{}, "It is %s, and archived tasks don't run. Create a follow-up task.", tk.Status)
		return w.list, nil
	case tk.Status == task.Draft:
		w.add(task.WhyDraft, task.Reason{}, "It is a draft. Start it to put it into its owner's queue.")
		if err := w.owner(); err != nil {
			return nil, err
		}
		return w.list, w.blockers()
	case open != nil && open.Status == task.RunRunning:
		if p := open.Permission; p != nil {
			w.add(task.WhyPermission, task.Reason{Run: open.ID, Until: p.ExpiresAt},
				"Run %d waits until %s for a reviewer to allow a call of %s.", open.ID, w.clock(p.ExpiresAt), p.Tool)
			w.add(task.WhyRunning, task.Reason{Run: open.ID}, "Run %d is on hold until then, and its time limit is paused.", open.ID)
		} else {
			w.add(task.WhyRunning, task.Reason{Run: open.ID}, "Run %d is %s.", open.ID, open.Phase)
		}
		w.claim()
		return w.list, nil
	}
	// Each adds its reasons, if it has some; the first are the most decisive.
	for _, look := range []func() error{
		w.paused, w.budget, w.awaits, w.waiting, w.claimAndQuestion, w.blockers, w.owner, w.failures, w.skippedWake, w.ticks,
	} {
		if err := look(); err != nil {
			return nil, err
		}
	}
	return w.list, nil
}

// paused stops what has not begun; who holds the task continues.
func (w *diagnosis) paused() error {
	all, err := w.Pauses()
	p := all.For(w.tk.Owner)
	if err != nil || p == nil || w.tk.Claim != nil {
		return err
	}
	what := "The server"
	if p.Agent != "" {
		what = p.Agent
	}
	w.add(task.WhyPaused, task.Reason{}, "%s has been paused by %s since %s: %s", what, task.ActorLabel(p.By), w.clock(p.Since), p.Brief())
	return nil
}

// budget reports that nothing of the owner starts before tomorrow.
func (w *diagnosis) budget() error {
	b, err := w.s.overBudget(w.Rx, w.tk.Owner)
	if err != nil || b == nil || w.tk.Claim != nil {
		return err
	}
	w.add(task.WhyBudget, task.Reason{Until: b.Until}, "The %s, until %s.", b.Spent(), w.clock(b.Until))
	return nil
}

// awaits reports a result that waits for people or for its merge.
func (w *diagnosis) awaits() error {
	if w.tk.Awaits == "" {
		return nil
	}
	r, err := w.LastResult(w.tk.ID)
	if err != nil || r == nil {
		return err
	}
	if w.tk.Awaits == task.WaitsReview {
		n := r.VotesMissing()
		w.add(task.WhyReview, task.Reason{}, "Result %d has been waiting for %d more %s from %s since %s.",
			r.Number, n, plural(n, "vote", "votes"), cmp.Or(r.MissingVoters(), "a reviewer"), w.clock(r.CreatedAt))
		return nil
	}
	m, err := w.OpenMerge(w.tk.ID)
	if err != nil || m == nil {
		return err
	}
	text := "Result %d is accepted and waits for its merge into %s."
	if m.State == task.MergeRunning {
		text = "Result %d is accepted and being merged into %s."
	}
	if m.State == task.MergeWaiting {
		text += " " + strings.ReplaceAll(m.Reason, "%", "%%")
	}
	w.add(task.WhyMerge, task.Reason{}, text, r.Number, m.Into)
	return nil
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// waiting reports a run that was created but has not started.
func (w *diagnosis) waiting() error {
	r := w.open
	if r == nil {
		return nil
	}
	if r.Phase == task.PhaseApproval {
		if h := r.PendingDecision; h != nil {
			w.add(task.WhyApproval, task.Reason{Run: r.ID, Until: h.Until}, "Run %d was %s by %s, who can undo that until %s.",
				r.ID, h.Decision, task.ActorLabel(h.By), w.clock(h.Until))
		} else if r.Approval != nil && r.Approval.ExpiresAt != 0 {
			w.add(task.WhyApproval, task.Reason{Run: r.ID, Until: r.Approval.ExpiresAt}, "Run %d waits until %s for a reviewer's approval%s.",
				r.ID, w.clock(r.Approval.ExpiresAt), reasonSuffixColon(r.Approval.RequestReason))
		} else {
			w.add(task.WhyApproval, task.Reason{Run: r.ID}, "Run %d waits for a reviewer's approval.", r.ID)
		}
		return nil
	}
	n, err := w.RunsAhead(r)
	alone, leave := w.s.noWorkerReason(r.Agent, w.Now), w.s.leaveReason(r)
	switch {
	case err != nil:
		return err
	case leave != "":
		w.add(task.WhyQueued, task.Reason{Run: r.ID}, "Run %d is queued: %s.", r.ID, leave)
	case alone != "":
		w.add(task.WhyNoWorker, task.Reason{Run: r.ID}, "Run %d is queued: %s.", r.ID, alone)
	case r.NotBefore > w.Now:
		w.add(task.WhyQueued, task.Reason{Run: r.ID, Until: r.NotBefore},
			"Run %d is queued and will not start before %s.", r.ID, w.clock(r.NotBefore))
	case n == 1:
		w.add(task.WhyQueued, task.Reason{Run: r.ID}, "Run %d is queued behind 1 run of %s.", r.ID, r.Agent)
	case n > 1:
		w.add(task.WhyQueued, task.Reason{Run: r.ID}, "Run %d is queued behind %d runs of %s.", r.ID, n, r.Agent)
	default:
		w.add(task.WhyQueued, task.Reason{Run: r.ID}, "Run %d is queued: it starts when a slot is free.", r.ID)
	}
	return nil
}

// claimAndQuestion adds the claim and the open question.
func (w *diagnosis) claimAndQuestion() error {
	w.claim()
	if w.tk.QuestionID == 0 {
		return nil
	}
	q, err := w.Message(w.tk.QuestionID)
	if err != nil {
		return err
	}
	w.add(task.WhyQuestion, task.Reason{}, "A question has waited for an answer since %s. No run starts and no agent can claim the task "+
		"until someone replies.",
		w.clock(q.CreatedAt))
	return nil
}

func (w *diagnosis) claim() {
	if c := w.tk.Claim; c != nil {
		w.add(task.WhyClaimed, task.Reason{Until: c.ExpiresAt}, "Claimed by %s until %s; each heartbeat extends the claim.",
			task.ActorLabel(c.Holder), w.clock(c.ExpiresAt))
	}
}

// blockers names what must be done first; canceled ones, which only a person
// can resolve, before the others.
func (w *diagnosis) blockers() error {
	if w.tk.Blocked == 0 {
		return nil
	}
	list, err := w.OpenBlockers(w.tk.ID)
	if err != nil {
		return err
	}
	for _, b := range list {
		if b.Status == task.Canceled {
			w.add(task.WhyBlockerCanceled, task.Reason{Task: b.ID},
				"Its blocker #%d was canceled. Remove the blocker, or cancel this task.", b.ID)
		}
	}
	for _, b := range list {
		if b.Status != task.Canceled {
			w.add(task.WhyBlocked, task.Reason{Task: b.ID}, "It is blocked by #%d, which must be done first.", b.ID)
		}
	}
	return nil
}

// owner reports why the owner cannot be started.
func (w *diagnosis) owner() error {
	def, ok := w.s.agents.Agent(w.tk.Owner)
	switch {
	case !ok:
		w.add(task.WhyOwnerMissing, task.Reason{}, "Its owner %s no longer exists. Move it to another agent.", w.tk.Owner)
	case !def.Serving:
		w.add(task.WhyOwnerInvalid, task.Reason{}, "The definition of %s is invalid (%s): fix it, or move the task.",
			w.tk.Owner, firstProblem(def))
	case !def.WorksOn(w.tk.Project):
		w.add(task.WhyOwnerProject, task.Reason{}, "%s works only on the projects %s, not on %s: move it to another agent.",
			w.tk.Owner, strings.Join(def.Projects, ", "), w.tk.Project)
	case def.PullOnly && w.tk.Status == task.Active && w.tk.Claim == nil:
		w.add(task.WhyPullOnly, task.Reason{}, "%s claims its own work; Taskyard does not start it: %s", w.tk.Owner, def.PullReason)
	default:
		err := w.s.checkReachesRepository(w.Rx, def, w.tk.Project)
		var e *task.Error
		if !errors.As(err, &e) {
			return err
		}
		w.add(task.WhyOwnerInvalid, task.Reason{}, "%s.", e.Message)
	}
	return nil
}

func (w *diagnosis) failures() error {
	n := w.tk.Failures
	if n == 0 {
		return nil
	}
	r, failed, err := w.lastFailure()
	if err != nil {
		return err
	}
	if n >= w.s.config().Attempts {
		w.add(task.WhyStuck, task.Reason{}, "It is stuck: no automatic retries are left. Fix the cause, then run the task again.")
	}
	n = min(n, failed) // one failure that no retry fixes counts as all attempts
	switch {
	case r == nil || r.Reason == "":
		w.add(task.WhyFailed, task.Reason{}, "Its last run failed.")
	case r.Phase == task.PhaseDenied:
		w.add(task.WhyFailed, task.Reason{Run: r.ID}, "Run %d was denied: %s", r.ID, r.Reason)
	case n == 1:
		w.add(task.WhyFailed, task.Reason{Run: r.ID}, "Run %d failed: %s", r.ID, r.Reason)
	default:
		w.add(task.WhyFailed, task.Reason{Run: r.ID}, "%d runs in a row failed, the last, run %d: %s", n, r.ID, r.Reason)
	}
	return nil
}

// lastFailure returns the newest run that failed or was denied, or nil, and how
// many of the latest 20 failed in a row up to it.
func (w *diagnosis) lastFailure() (newest *task.Run, failed int, err error) {
	list, err := w.Runs(task.RunFilter{TaskID: w.tk.ID, Limit: 20})
	for _, r := range list {
		switch {
		case r.Status == task.RunFailed, r.Phase == task.PhaseDenied:
			failed++
			if newest == nil {
				newest = r
			}
		case newest != nil && r.Status.Final():
			return newest, failed, err
		}
	}
	return newest, failed, err
}

// skippedWake names what started no run within the last hour, because the task
// had as many runs by wakes as it may have.
func (w *diagnosis) skippedWake() error {
	list, err := w.LastEvents(w.tk.ID, maxSkipSearch)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(list) {
		if e.Kind != task.EvWakeSkipped || w.Now.Sub(e.At) > time.Hour {
			continue
		}
		var why struct {
			Why    string
			Budget int
		}
		if json.Unmarshal(e.Changes, &why) != nil {
			continue
		}
		w.add(task.WhyWakeSkipped, task.Reason{Until: e.At.Add(time.Hour)}, "“%s” at %s started no run: the limit of %d runs by wakes "+
			"per hour (scheduler.wake_budget_per_hour) was reached. A tick or a person can start one.",
			task.StartReasonText(why.Why), w.clock(e.At), why.Budget)
		return nil
	}
	return nil
}

const maxSkipSearch = 50 // newest events of the task that are looked at

// ticks reports when the scheduler's next tick is, when nothing else speaks against
// a run.
func (w *diagnosis) ticks() error {
	for _, r := range w.list {
		if r.Code != task.WhyFailed && r.Code != task.WhyWakeSkipped {
			return nil
		}
	}
	var next, then task.Time
	if plan := w.s.config().Ticks; plan != nil {
		if next = plan(w.Now); next != 0 {
			then = plan(next)
		}
	}
	switch {
	case next == 0:
		w.add(task.WhyNoTick, task.Reason{}, "No tick is scheduled. Use “Run now”.")
	case then != 0 && next.Sub(w.Now) > then.Sub(next):
		// A longer wait than from that tick to the one after it: ticks rest.
		w.add(task.WhyOutsideWindow, task.Reason{Until: next}, "The scheduler is outside its window. The next tick is at %s.", w.clock(next))
	default:
		w.add(task.WhyNextTick, task.Reason{Until: next}, "Ready: it runs at the next tick, at %s.", w.clock(next))
	}
	return nil
}

// clock shows a moment, with its day unless that is today.
func (w *diagnosis) clock(at task.Time) string {
	const day = "2006-01-02"
	t := at.Std().In(w.zone)
	text := t.Format("15:04 ") + task.ZoneName(t)
	if date := t.Format(day); date != w.Now.Std().In(w.zone).Format(day) {
		return date + " " + text
	}
	return text
}
