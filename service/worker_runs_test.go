package service

import (
	"pgregory.net/rapid"

	"taskyard/task"
)

// sync adds the runs that wakes created to the model; without wakes the model must know
// them all.
func (s *machine) sync() {
	s.t.Helper()
	if s.exact {
		return
	}
	for _, tk := range s.m.tasks {
		now := s.task(tk.id)
		tk.owner, tk.status, tk.question, tk.failures = now.Owner, now.Status, now.QuestionID != 0, now.Failures
		tk.release()
		if now.Claim != nil {
			tk.holder, tk.expires, tk.seq = now.Claim.Holder, now.Claim.ExpiresAt, now.Claim.ID
		}
	}
	s.m.runs = s.m.runs[:0]
	list := must(s.s.Runs(s.ctx(), maya, task.RunFilter{Limit: 200}))
	for i := len(list) - 1; i >= 0; i-- {
		r := list[i]
		s.m.runs = append(s.m.runs, &mRun{
			id: r.ID, task: s.m.tasks[r.TaskID-1], agent: r.Agent,
			state: r.State(), lease: r.Lease, beats: r.LeaseExpires,
		})
	}
}

func (s *machine) doRun(rt *rapid.T) {
	tk := s.pick(rt)
	_, err := s.s.RunNow(s.ctx(), maya, tk.id)
	code := s.m.runnable(tk)
	s.expect(err, code)
	if code == "" {
		tk.failures = 0
		s.m.create(tk, task.CauseManual, 0)
	}
}

func (s *machine) doDecide(rt *rapid.T) {
	r := s.pickRun(rt, func(*mRun) bool { return true })
	if rapid.IntRange(0, 3).Draw(rt, "deny") == 0 {
		late := r.state == waiting && r.expires <= s.m.now
		_, err := s.s.DenyRun(s.ctx(), rita, r.id, "no", 0)
		if r.state == waiting && !late {
			s.expect(err, "")
			s.m.refuse(r, task.PhaseDenied)
			r.task.failures = modelAttempts
		} else if s.exact && err == nil {
			s.t.Fatalf("denied run %d: got %s", r.id, r.state)
		}
		return
	}
	scope := rapid.SampledFrom([]task.Scope{task.ScopeOnce, task.ScopeTask}).Draw(rt, "scope")
	_, err := s.s.ApproveRun(s.ctx(), rita, r.id, Approve{Scope: scope})
	s.expect(err, s.m.approve(r, scope))
}

func (s *machine) doStart(*rapid.T) {
	st, _, err := s.s.NextRun(s.ctx(), nil)
	ok(s.t, err)
	want := s.m.next()
	if s.exact {
		equal(s.t, "a run starts", st != nil, want != nil)
	}
	if st == nil {
		return
	}
	if s.exact {
		equal(s.t, "run", st.Run.ID, want.id)
		equal(s.t, "lease", st.Run.Lease, want.lease)
		if r := s.run(want.id); want.task.mustApprove() {
			equal(s.t, "decision", r.Approval.Decision, "approved")
		}
	}
	ok(s.t, s.s.RunWorking(s.ctx(), st.Run.ID, st.Run.Lease, 1, "1", "b"))
}

func (s *machine) doEnd(rt *rapid.T) {
	r := s.pickRun(rt, func(r *mRun) bool { return !r.state.Status.Final() })
	running := r.state.Status == task.RunRunning
	how := rapid.SampledFrom([]string{"complete", "fail", "fail for good", "requeue", "cancel", "lose"}).Draw(rt, "how")
	var err error
	var want task.Code
	if !running && how != "cancel" {
		want = task.CodeStaleLease
	}
	finish := func(st task.State, permanent bool) {
		err = s.s.FinishRun(s.ctx(), r.id, r.lease, Finished{State: st, Reason: "r", Summary: "s", Permanent: permanent})
		if want == "" {
			s.m.finish(r, st, permanent)
		}
	}
	switch how {
	case "complete":
		finish(task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}, false)
	case "fail":
		finish(task.State{Status: task.RunFailed, Phase: task.PhaseError}, false)
	case "fail for good":
		finish(task.State{Status: task.RunFailed, Phase: task.PhaseAuth}, true)
	case "lose":
		finish(task.State{Status: task.RunFailed, Phase: task.PhaseLost}, false)
	case "requeue":
		if err = s.s.RequeueRun(s.ctx(), r.id, r.lease); want == "" {
			s.m.end(r, queued)
			r.claim = 0
		}
	case "cancel":
		_, err = s.s.CancelRun(s.ctx(), maya, r.id, "")
		s.m.end(r, task.State{Status: task.RunCanceled, Phase: task.PhaseBy})
	}
	s.expect(err, want)
}

func (s *machine) doRounds(rt *rapid.T) {
	switch rapid.SampledFrom([]string{"tick", "leases", "approvals"}).Draw(rt, "round") {
	case "tick":
		res := must(s.s.Tick(s.ctx(), "cron"))
		if n := s.m.tick(); s.exact {
			equal(s.t, "queued by the tick", res.Queued, n)
		}
	case "leases":
		must(s.s.ReleaseExpired(s.ctx()))
		for _, tk := range s.m.tasks {
			if tk.holder != "" && !s.m.live(tk) {
				tk.release()
				tk.words++
			}
		}
	case "approvals":
		must(s.s.ExpireApprovals(s.ctx()))
		for _, r := range s.m.runs {
			if r.state == waiting && r.expires <= s.m.now {
				s.m.refuse(r, task.PhaseExpired)
			}
		}
	}
}

// check compares the instance with the model and checks the invariants.
func (s *machine) check(*rapid.T) {
	s.sync()
	s.checkInvariants()
	open := map[task.ID]task.ID{}
	for _, r := range must(s.s.Runs(s.ctx(), maya, task.RunFilter{Limit: 200})) {
		if before, was := s.ended[r.ID]; was && before != r.State() {
			s.t.Fatalf("run %d changed from final state %s to %s", r.ID, before, r.State())
		}
		if r.Status.Final() {
			s.ended[r.ID] = r.State()
		} else if other := open[r.TaskID]; other != 0 {
			s.t.Fatalf("task %d has open runs %d and %d", r.TaskID, r.ID, other)
		} else {
			open[r.TaskID] = r.ID
		}
		if s.exact {
			equal(s.t, "state of run "+r.ID.String(), r.State(), s.m.runs[r.ID-1].state)
		}
	}
	for _, tk := range s.m.tasks {
		s.checkTask(tk, open[tk.id])
	}
	s.checkWaiters()
}

// checkBlockers compares the set and its counts, and checks for cycles.
func (s *machine) checkBlockers(tk *mTask, now *task.Task) {
	s.t.Helper()
	at := " of task " + tk.id.String()
	equal(s.t, "blockers"+at, len(now.BlockedBy), len(tk.blockers))
	open := !tk.status.Archived()
	equal(s.t, "blocked"+at, now.Blocked > 0, open && tk.held())
	equal(s.t, "blocker canceled"+at, now.BlockersCanceled > 0, open && tk.lost())
	if open && tk.reaches(tk) {
		s.t.Fatalf("task %d waits for itself", tk.id)
	}
}

func (s *machine) checkTask(tk *mTask, run task.ID) {
	s.t.Helper()
	now, at := s.task(tk.id), " of task "+tk.id.String()
	equal(s.t, "status"+at, now.Status, tk.status)
	equal(s.t, "owner"+at, now.Owner, tk.owner)
	equal(s.t, "open run"+at, now.OpenRunID, run)
	equal(s.t, "question"+at, now.QuestionID != 0, tk.question)
	equal(s.t, "failures"+at, now.Failures, tk.failures)
	s.checkBlockers(tk, now)
	equal(s.t, "claimed"+at, now.Claim != nil, s.m.live(tk))
	if now.Claim != nil {
		equal(s.t, "claim"+at, *now.Claim, task.Claim{ID: tk.seq, Holder: tk.owner, Since: now.Claim.Since, ExpiresAt: tk.expires})
	}
	if now.Status.Archived() && (now.Claim != nil || now.QuestionID != 0 || run != 0) {
		s.t.Fatalf("archived task %d is claimed or gated: %+v", tk.id, now)
	}
	if now.Version < s.versions[tk.id] {
		s.t.Fatalf("version of task %d decreased from %d to %d", tk.id, s.versions[tk.id], now.Version)
	}
	s.versions[tk.id] = now.Version
}
