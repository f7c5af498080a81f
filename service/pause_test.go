package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"taskyard/task"
)

func (inst *instance) pause(agent string) {
	inst.t.Helper()
	must(inst.s.Pause(inst.ctx(), maya, agent, "a bad key"))
}

func (inst *instance) resume(agent string) {
	inst.t.Helper()
	must(inst.s.Resume(inst.ctx(), oleg, agent, ""))
}

func TestAPauseStopsSignups(t *testing.T) {
	t.Parallel()
	t.Run("only of the agent", func(t *testing.T) {
		inst := newInstance(t)
		inst.create(maya, "coder", noStart)
		inst.create(maya, "planner", noStart)
		inst.pause("coder")
		_, err := inst.s.Signup(inst.ctx(), coder, "coder", 1)
		e := refused(t, err, task.CodePaused, "agent coder has been paused by maya since 2026-03-02 09:00 UTC: a bad key")
		equal(t, "kind", e.Kind, task.Conflict)
		equal(t, "retry after", e.Retry, 60)
		if inst.signup(planner) == nil {
			t.Error("the other agent got nothing")
		}
	})
	t.Run("of all agents, in every form", func(t *testing.T) {
		inst := newInstance(t)
		tk, next := inst.claimedTask(coder), inst.create(maya, "coder", noStart)
		inst.pause("")
		for _, n := range []int{1, 5} {
			_, err := inst.s.Signup(inst.ctx(), coder, "coder", n)
			refused(t, err, task.CodePaused, "the server has been paused by maya")
		}
		_, err := inst.patchStatus(next.ID, "working")
		refused(t, err, task.CodePaused)
		done := must(inst.s.CompleteAndSignup(inst.ctx(), coder, "coder", tk.ID, "as asked", 0))
		equal(t, "completed", done.Completed.Status, task.Done)
		equal(t, "no next task", done.Task == nil, true)
		equal(t, "why", strings.HasPrefix(done.Paused, "the server has been paused by maya"), true)
	})
	t.Run("until a person resumes it", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.create(maya, "coder", noStart)
		inst.pause("coder")
		inst.pause("")
		inst.resume("")
		_, err := inst.s.Signup(inst.ctx(), coder, "coder", 1)
		refused(t, err, task.CodePaused, "agent coder")
		inst.resume("coder")
		equal(t, "task", inst.signup(coder).ID, tk.ID)
	})
	t.Run("but not existing claims", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.claimedTask(coder)
		inst.pause("")
		must(inst.s.Heartbeat(inst.ctx(), coder, tk.ID, tk.Claim.ID))
		must(inst.s.Comment(inst.ctx(), coder, tk.ID, "I continue"))
		equal(t, "moved to", must(inst.move(coder, tk.ID, "coder", "planner", "yours")).Owner, "planner")
	})
}

func TestAPauseStopsDispatch(t *testing.T) {
	t.Parallel()
	t.Run("only the agent's queued runs wait", func(t *testing.T) {
		inst := newInstance(t, noApprove)
		inst.queueRuns("coder", 1)
		other := inst.queueRuns("planner", 1)[0]
		inst.pause("coder")
		equal(t, "started", inst.start().Run.ID, other.ID)
		inst.nothingStarts()
		inst.resume("coder")
		inst.start()
	})
	t.Run("wakes, answers, retries and approvals are queued and start after the resume", func(t *testing.T) {
		inst := newInstance(t, wakes)
		asked, waiting := inst.create(maya, "coder", noStart), inst.create(planner, "coder", noStart)
		must(inst.s.Ask(inst.ctx(), coder, asked.ID, "?", false))
		r := inst.requestRun(waiting.ID)
		inst.pause("")
		woken := inst.create(maya, "reviewer")
		must(inst.s.Reply(inst.ctx(), maya, asked.ID, "!"))
		must(inst.s.ApproveRun(inst.ctx(), rita, r.ID, Approve{}))
		inst.nothingStarts()
		var started []task.ID
		inst.resume("")
		for st, _, err := inst.s.NextRun(inst.ctx(), nil); st != nil; st, _, err = inst.s.NextRun(inst.ctx(), nil) {
			ok(t, err)
			started = append(started, st.Run.TaskID)
			inst.finish(st, completed("done"))
		}
		slices.Sort(started)
		if !slices.Equal(started, []task.ID{asked.ID, waiting.ID, woken.ID}) {
			t.Errorf("got started tasks %v", started)
		}
	})
	t.Run("ticks create no run and leave a receipt", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.create(maya, "coder", noStart)
		must(inst.s.Pause(inst.ctx(), maya, "coder", strings.Repeat("long ", 1000)))
		res := must(inst.s.Tick(inst.ctx(), "cron"))
		equal(t, "queued", res.Queued, 0)
		equal(t, "reason", inst.skips()[tk.ID], "paused")
		for _, s := range must(inst.s.Scheduler(inst.ctx(), maya)).Skips {
			if len(s.Detail) > 400 {
				t.Errorf("got a receipt of %d bytes", len(s.Detail))
			}
		}
	})
	t.Run("manual runs are refused", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.create(maya, "coder", noStart)
		r := must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
		must(inst.s.CancelRun(inst.ctx(), maya, r.ID, ""))
		inst.pause("")
		_, err := inst.s.RunNow(inst.ctx(), maya, tk.ID)
		refused(t, err, task.CodePaused, "a bad key")
		_, err = inst.s.RetryRun(inst.ctx(), maya, r.ID)
		refused(t, err, task.CodePaused, "a bad key")
	})
	t.Run("running runs continue", func(t *testing.T) {
		inst := newInstance(t, noApprove)
		r := inst.queueRuns("coder", 1)[0]
		st := inst.start()
		inst.pause("")
		ok(t, inst.s.RunHeartbeat(inst.ctx(), st.Run.ID, st.Run.Lease))
		inst.finish(st, completed("done"))
		equal(t, "status", inst.run(r.ID).Status, task.RunCompleted)
	})
	t.Run("another server on the same database is paused too", func(t *testing.T) {
		inst := newInstance(t, noApprove)
		inst.queueRuns("coder", 1)
		inst.pause("")
		inst.s = inst.service(noApprove)
		inst.nothingStarts()
		equal(t, "paused by", must(inst.s.Pauses(inst.ctx(), vera))[0].By, "user:maya")
		inst.resume("")
		inst.start()
	})
	t.Run("a resume notifies the dispatcher", func(t *testing.T) {
		inst := newInstance(t, noApprove)
		inst.pause("")
		inst.checkWakeQueuesRun()
		for len(inst.s.Startable()) > 0 {
			<-inst.s.Startable()
		}
		inst.resume("")
		equal(t, "signals", len(inst.s.Startable()), 1)
	})
}

// checkWakeQueuesRun checks that a wake queues a run, which a pause allows.
func (inst *instance) checkWakeQueuesRun() {
	inst.t.Helper()
	inst.s.config().Wakes = true
	inst.create(maya, "coder")
	inst.s.config().Wakes = false
}

func TestWhoMayPause(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for _, a := range []task.Actor{vera, coder, {}} {
		before := inst.lastEvent()
		for name, act := range map[string]func() error{
			"pause":  func() error { _, err := inst.s.Pause(inst.ctx(), a, "", "x"); return err },
			"resume": func() error { _, err := inst.s.Resume(inst.ctx(), a, "", "x"); return err },
			"stop":   func() error { _, err := inst.s.StopEverything(inst.ctx(), a, "x"); return err },
		} {
			if err := act(); err == nil {
				t.Errorf("%s could %s", a.Name, name)
			}
		}
		equal(t, "events", inst.lastEvent(), before)
	}
	_, err := inst.s.Pauses(inst.ctx(), task.Actor{})
	refused(t, err, task.CodeUnauthorized)
}

func TestAPauseIsValidated(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	pause := func(agent, reason string) error {
		_, err := inst.s.Pause(inst.ctx(), maya, agent, reason)
		return err
	}
	t.Run("a reason", func(t *testing.T) {
		for _, bad := range []string{"", " \n", strings.Repeat("x", 64<<10+1), "a\x00b", "\xff"} {
			refused(t, pause("", bad), task.CodeInvalidField, "reason")
			_, err := inst.s.StopEverything(inst.ctx(), maya, bad)
			refused(t, err, task.CodeInvalidField, "reason")
		}
		ok(t, pause("coder", " "+strings.Repeat("x", 64<<10-2)+" "))
		equal(t, "bytes", len(must(inst.s.Pauses(inst.ctx(), maya))[0].Reason), 64<<10-2)
		inst.resume("coder")
	})
	t.Run("an existing agent", func(t *testing.T) {
		refused(t, pause("nobody", "x"), task.CodeUnknownAgent, "agent", "coder")
	})
	t.Run("no existing pause", func(t *testing.T) {
		ok(t, pause("coder", "first"))
		inst.Forward(1e9)
		e := refused(t, pause("coder", "second"), task.CodePaused,
			"by maya since", "2026-03-02 09:00 UTC", "first; resume it first to change the reason")
		equal(t, "retry after", e.Retry, 0)
		ok(t, pause("", "all of it"))
		refused(t, pause("", "again"), task.CodePaused, "the server", "all of it")
	})
	t.Run("a resume requires a pause", func(t *testing.T) {
		for _, agent := range []string{"", "coder"} {
			inst.resume(agent)
			_, err := inst.s.Resume(inst.ctx(), maya, agent, "")
			refused(t, err, task.CodeNotPaused)
		}
		_, err := inst.s.Resume(inst.ctx(), maya, "nobody", "")
		refused(t, err, task.CodeUnknownAgent, "unknown agent: nobody (known agents: ")
		_, err = inst.s.Resume(inst.ctx(), maya, "", strings.Repeat("x", 64<<10+1))
		refused(t, err, task.CodeInvalidField, "reason")
	})
	t.Run("a pause of an agent without a file can be ended too", func(t *testing.T) {
		inst.define("passing", definition("tools: read"))
		ok(t, pause("passing", "x"))
		ok(t, inst.s.DeleteAgent(inst.ctx(), maya, "passing"))
		inst.resume("passing")
	})
}

func TestStopEverythingEndsRunningRuns(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, noApprove, func(c *Config) { c.MaxParallel = 2 })
	running := append(inst.queueRuns("coder", 1), inst.queueRuns("planner", 1)...)
	stopped := map[task.ID]error{}
	for range running {
		st := inst.start()
		inst.s.RegisterStop(st.Run.ID, func(cause error) { stopped[st.Run.ID] = cause })
	}
	queued := inst.queueRuns("reviewer", 1)[0]
	sub := inst.s.Hub().Subscribe("instance", "scheduler")
	defer sub.Close()
	out := must(inst.s.StopEverything(inst.ctx(), oleg, " a leak "))
	t.Run("with the reason, and their processes are stopped", func(t *testing.T) {
		equal(t, "runs", len(out.Runs), 2)
		for _, r := range running {
			now := inst.run(r.ID)
			equal(t, "state", now.State(), task.State{Status: task.RunCanceled, Phase: task.PhaseBy})
			equal(t, "reason", now.Reason, "everything was stopped by oleg: a leak")
			equal(t, "cause", stopped[r.ID], ErrStopCanceled)
			equal(t, "task", inst.task(r.TaskID).WorkStatus, task.Idle)
			equal(t, "failures", inst.task(r.TaskID).Failures, 0)
		}
	})
	t.Run("and pauses the instance, with an event", func(t *testing.T) {
		equal(t, "by", out.Pauses[0].By, "user:oleg")
		equal(t, "reason", out.Pauses[0].Reason, "a leak")
		events := must(inst.s.Events(inst.ctx(), maya, task.EventFilter{Limit: 500}))
		var kinds []string
		for _, e := range events[len(events)-8:] {
			kinds = append(kinds, e.Kind)
		}
		if !slices.Contains(kinds, task.EvInstancePaused) || kinds[7] != task.EvInstanceStopped {
			t.Error(kinds)
		}
		if topics := sub.Drain(); !slices.Contains(topics, "instance") || !slices.Contains(topics, "scheduler") {
			t.Error(topics)
		}
		inst.checkChain()
	})
	t.Run("queued runs stay and start after the resume", func(t *testing.T) {
		equal(t, "state", inst.run(queued.ID).State(), task.State{Status: task.RunPending, Phase: task.PhaseQueued})
		inst.nothingStarts()
		inst.resume("")
		equal(t, "started", inst.start().Run.ID, queued.ID)
	})
	t.Run("again during the pause it ends running runs, and the pause is unchanged", func(t *testing.T) {
		inst.pause("")
		again := must(inst.s.StopEverything(inst.ctx(), oleg, "more"))
		equal(t, "runs", len(again.Runs), 1)
		equal(t, "by", again.Pauses[0].By, "user:maya")
		equal(t, "remaining runs", len(must(inst.s.StopEverything(inst.ctx(), oleg, "more")).Runs), 0)
	})
}

func TestAResumeRestartsStoppedRuns(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, noApprove, func(c *Config) { c.MaxParallel = 3 })
	first, second, third := inst.queueRuns("coder", 1)[0], inst.queueRuns("planner", 1)[0], inst.queueRuns("reviewer", 1)[0]
	for range 3 {
		inst.start()
	}
	out := must(inst.s.StopEverything(inst.ctx(), oleg, "a leak"))
	equal(t, "can be restarted", out.Pauses[0].Stopped, 3)
	inboxTexts := func() (list []string) {
		for _, n := range must(inst.s.Inbox(inst.ctx(), maya)).Notices {
			list = append(list, n.TaskID.String()+" "+n.Text)
		}
		return list
	}
	const notice = "Run 1 was stopped with everything else by oleg: a leak."
	if got := inboxTexts(); len(got) != 3 || !strings.Contains(strings.Join(got, "\n"), notice) {
		t.Errorf("got inbox %q", got)
	}
	must(inst.s.CompleteTask(inst.ctx(), maya, third.TaskID, "by hand", 0))
	got := must(inst.s.ResumeAndRestart(inst.ctx(), oleg, ""))
	equal(t, "restarted", len(got.Runs), 2)
	equal(t, "remaining in the inbox", len(inboxTexts()), 1) // for the task that does not run again
	for i, was := range []*task.Run{first, second} {
		r := inst.run(got.Runs[i])
		equal(t, "task", r.TaskID, was.TaskID)
		equal(t, "why", r.StartReason, "restarted after everything was stopped")
	}
	inst.start()
	inst.start()
	inst.pause("")
	equal(t, "of a later pause", must(inst.s.Pauses(inst.ctx(), oleg))[0].Stopped, 0)
	equal(t, "restarted", len(must(inst.s.ResumeAndRestart(inst.ctx(), oleg, "")).Runs), 0)
}

func TestStopEverythingNamesDelegatedRuns(t *testing.T) {
	t.Parallel()
	inst := delegating(t, func(c *Config) { c.MaxParallel = 3 })
	_, boss, own := inst.inRun("boss")
	running := inst.delegate(own, task.Delegation{AgentType: "lead"})
	lead := inst.start()
	below := inst.delegate(inst.actor(lead), task.Delegation{})
	inst.start()
	queued := inst.delegate(own, task.Delegation{})
	want := []task.ID{boss.Run.ID, running.RunID, below.RunID, queued.RunID}
	out := must(inst.s.StopEverything(inst.ctx(), oleg, "a leak"))
	slices.Sort(out.Runs)
	equal(t, "runs", fmt.Sprint(out.Runs), fmt.Sprint(want))
	for _, id := range want {
		if got := inst.state(id); !strings.HasPrefix(got, "canceled/") {
			t.Errorf("run %d: got %s", id, got)
		}
	}
	events := must(inst.s.Events(inst.ctx(), maya, task.EventFilter{Limit: 500}))
	if last := events[len(events)-1]; last.Kind != task.EvInstanceStopped ||
		strings.Count(string(last.Changes), `"`+below.RunID.String()+`"`) != 1 {
		t.Errorf("got last event %s %s", last.Kind, last.Changes)
	}
}

func TestEqualFailuresPauseTheAgent(t *testing.T) {
	t.Parallel()
	// fail runs n tasks of the agent, each of which fails permanently.
	fail := func(inst *instance, n int, phase task.Phase, reason func(int) string) {
		for i := range n {
			tk := inst.create(maya, "coder", noStart)
			must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
			inst.Forward(1e9)
			inst.finish(inst.start(), Finished{State: task.State{Status: task.RunFailed, Phase: phase}, Reason: reason(i), Permanent: true})
		}
	}
	same := func(int) string { return "no credit left" }
	pauses := func(inst *instance) task.Pauses { return must(inst.s.Pauses(inst.ctx(), maya)) }
	t.Run("after five in a row, by the system, with the reason", func(t *testing.T) {
		inst := newInstance(t)
		fail(inst, 4, task.PhaseAuth, same)
		equal(t, "pauses after four", len(pauses(inst)), 0)
		fail(inst, 1, task.PhaseAuth, same)
		p := pauses(inst).For("coder")
		if p == nil || p.By != task.System || p.Reason != "5 runs in a row failed in the same way, the last of them run 5: no credit left" {
			t.Fatalf("got %+v", p)
		}
		equal(t, "others", pauses(inst).For("planner") == nil, true)
	})
	t.Run("counted again from zero after a resume", func(t *testing.T) {
		inst := newInstance(t)
		fail(inst, 5, task.PhaseAuth, same)
		inst.resume("coder")
		fail(inst, 4, task.PhaseAuth, same)
		equal(t, "pauses", len(pauses(inst)), 0)
		fail(inst, 1, task.PhaseAuth, same)
		equal(t, "pauses", len(pauses(inst)), 1)
	})
	t.Run("not if they differ, or a run succeeds in between", func(t *testing.T) {
		inst := newInstance(t)
		fail(inst, 9, task.PhaseError, func(i int) string { return "exit code " + task.ID(i%4).String() })
		fail(inst, 3, task.PhaseAuth, same)
		fail(inst, 1, task.PhaseError, same)
		fail(inst, 4, task.PhaseAuth, same)
		tk := inst.create(maya, "coder", noStart)
		inst.finish(inst.runTask(tk.ID), completed("well"))
		fail(inst, 4, task.PhaseAuth, same)
		equal(t, "pauses", len(pauses(inst)), 0)
	})
	t.Run("not for failures caused by the server, and not if disabled", func(t *testing.T) {
		inst := newInstance(t)
		fail(inst, 6, task.PhaseLost, same)
		equal(t, "pauses", len(pauses(inst)), 0)
		inst = newInstance(t, func(c *Config) { c.EqualFailures = 0 })
		fail(inst, 6, task.PhaseAuth, same)
		equal(t, "pauses", len(pauses(inst)), 0)
	})
	t.Run("a changed definition resets the count", func(t *testing.T) {
		inst := newInstance(t)
		fail(inst, 4, task.PhaseAuth, same)
		inst.define("coder", definition("tools: read", "runner: script"))
		fail(inst, 4, task.PhaseAuth, same)
		equal(t, "pauses", len(pauses(inst)), 0)
	})
}
