package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"taskyard/task"
)

func (y *instance) pause(agent string) {
	y.t.Helper()
	must(y.s.Pause(y.ctx(), maya, agent, "a bad key"))
}

func (y *instance) resume(agent string) {
	y.t.Helper()
	must(y.s.Resume(y.ctx(), oleg, agent, ""))
}

func TestAPauseStopsSignups(t *testing.T) {
	t.Run("of the agent alone", func(t *testing.T) {
		y := newInstance(t)
		y.create(maya, "coder", noStart)
		y.create(maya, "planner", noStart)
		y.pause("coder")
		_, err := y.s.Signup(y.ctx(), coder, "coder", 1)
		e := refused(t, err, task.CodePaused, "agent coder has been paused by user:maya since 2026-03-02T09:00:00.000Z: a bad key")
		equal(t, "kind", e.Kind, task.Conflict)
		equal(t, "retry after", e.Retry, 60)
		if y.signup(planner) == nil {
			t.Error("the other agent gets nothing")
		}
	})
	t.Run("of everybody, in every form", func(t *testing.T) {
		y := newInstance(t)
		tk, next := y.working(coder), y.create(maya, "coder", noStart)
		y.pause("")
		for _, n := range []int{1, 5} {
			_, err := y.s.Signup(y.ctx(), coder, "coder", n)
			refused(t, err, task.CodePaused, "the server has been paused by user:maya")
		}
		_, err := y.patchStatus(next.ID, "working")
		refused(t, err, task.CodePaused)
		done := must(y.s.CompleteAndSignup(y.ctx(), coder, "coder", tk.ID, "as asked", 0))
		equal(t, "completed", done.Completed.Status, task.Done)
		equal(t, "no next task", done.Task == nil, true)
		equal(t, "why", strings.HasPrefix(done.Paused, "the server has been paused by user:maya"), true)
	})
	t.Run("until a person resumes it", func(t *testing.T) {
		y := newInstance(t)
		tk := y.create(maya, "coder", noStart)
		y.pause("coder")
		y.pause("")
		y.resume("")
		_, err := y.s.Signup(y.ctx(), coder, "coder", 1)
		refused(t, err, task.CodePaused, "agent coder")
		y.resume("coder")
		equal(t, "task", y.signup(coder).ID, tk.ID)
	})
	t.Run("and not what is held already", func(t *testing.T) {
		y := newInstance(t)
		tk := y.working(coder)
		y.pause("")
		must(y.s.Heartbeat(y.ctx(), coder, tk.ID, tk.Claim.ID))
		must(y.s.Comment(y.ctx(), coder, tk.ID, "I continue"))
		equal(t, "moved to", must(y.move(coder, tk.ID, "coder", "planner", "yours")).Owner, "planner")
	})
}

func TestAPauseStopsDispatch(t *testing.T) {
	t.Run("queued runs wait, of the agent alone", func(t *testing.T) {
		y := newInstance(t, noApprove)
		y.queueRuns("coder", 1)
		other := y.queueRuns("planner", 1)[0]
		y.pause("coder")
		equal(t, "started", y.start().Run.ID, other.ID)
		y.nothingStarts()
		y.resume("coder")
		y.start()
	})
	t.Run("wakes, answers, retries and approvals queue up and start at the resume", func(t *testing.T) {
		y := newInstance(t, wakes)
		asked, waiting := y.create(maya, "coder", noStart), y.create(planner, "coder", noStart)
		must(y.s.Ask(y.ctx(), coder, asked.ID, "?", false))
		r := y.ask(waiting.ID)
		y.pause("")
		woken := y.create(maya, "reviewer")
		must(y.s.Reply(y.ctx(), maya, asked.ID, "!"))
		must(y.s.ApproveRun(y.ctx(), rita, r.ID, Approve{}))
		y.nothingStarts()
		var started []task.ID
		y.resume("")
		for st, _, err := y.s.NextRun(y.ctx(), nil); st != nil; st, _, err = y.s.NextRun(y.ctx(), nil) {
			ok(t, err)
			started = append(started, st.Run.TaskID)
			y.finish(st, completed("done"))
		}
		slices.Sort(started)
		if !slices.Equal(started, []task.ID{asked.ID, waiting.ID, woken.ID}) {
			t.Errorf("tasks %v started", started)
		}
	})
	t.Run("ticks make no run and leave a receipt", func(t *testing.T) {
		y := newInstance(t)
		tk := y.create(maya, "coder", noStart)
		must(y.s.Pause(y.ctx(), maya, "coder", strings.Repeat("long ", 1000)))
		res := must(y.s.Tick(y.ctx(), "cron"))
		equal(t, "queued", res.Queued, 0)
		equal(t, "reason", y.skips()[tk.ID], "paused")
		for _, s := range must(y.s.Scheduler(y.ctx(), maya)).Skips {
			if len(s.Detail) > 400 {
				t.Errorf("the receipt is %d bytes long", len(s.Detail))
			}
		}
	})
	t.Run("runs by hand are refused", func(t *testing.T) {
		y := newInstance(t)
		tk := y.create(maya, "coder", noStart)
		r := must(y.s.RunNow(y.ctx(), maya, tk.ID))
		must(y.s.CancelRun(y.ctx(), maya, r.ID, ""))
		y.pause("")
		_, err := y.s.RunNow(y.ctx(), maya, tk.ID)
		refused(t, err, task.CodePaused, "a bad key")
		_, err = y.s.RetryRun(y.ctx(), maya, r.ID)
		refused(t, err, task.CodePaused, "a bad key")
	})
	t.Run("running runs continue", func(t *testing.T) {
		y := newInstance(t, noApprove)
		r := y.queueRuns("coder", 1)[0]
		st := y.start()
		y.pause("")
		ok(t, y.s.RunHeartbeat(y.ctx(), st.Run.ID, st.Run.Lease))
		y.finish(st, completed("done"))
		equal(t, "status", y.run(r.ID).Status, task.RunCompleted)
	})
	t.Run("a further server over the same database is paused, too", func(t *testing.T) {
		y := newInstance(t, noApprove)
		y.queueRuns("coder", 1)
		y.pause("")
		y.s = y.service(noApprove)
		y.nothingStarts()
		equal(t, "paused by", must(y.s.Pauses(y.ctx(), vera))[0].By, "user:maya")
		y.resume("")
		y.start()
	})
	t.Run("a resume notifies the dispatcher", func(t *testing.T) {
		y := newInstance(t, noApprove)
		y.pause("")
		y.wokenAnyway()
		for len(y.s.Startable()) > 0 {
			<-y.s.Startable()
		}
		y.resume("")
		equal(t, "signals", len(y.s.Startable()), 1)
	})
}

// wokenAnyway has a wake queue a run, which a pause allows.
func (y *instance) wokenAnyway() {
	y.t.Helper()
	y.s.config().Wakes = true
	y.create(maya, "coder")
	y.s.config().Wakes = false
}

func TestWhoMayPause(t *testing.T) {
	y := newInstance(t)
	for _, a := range []task.Actor{vera, coder, {}} {
		before := y.lastEvent()
		for name, act := range map[string]func() error{
			"pause":  func() error { _, err := y.s.Pause(y.ctx(), a, "", "x"); return err },
			"resume": func() error { _, err := y.s.Resume(y.ctx(), a, "", "x"); return err },
			"stop":   func() error { _, err := y.s.StopEverything(y.ctx(), a, "x"); return err },
		} {
			if err := act(); err == nil {
				t.Errorf("%s may %s", a.Name, name)
			}
		}
		equal(t, "events", y.lastEvent(), before)
	}
	_, err := y.s.Pauses(y.ctx(), task.Actor{})
	refused(t, err, task.CodeUnauthorized)
}

func TestWhatAPauseNeeds(t *testing.T) {
	y := newInstance(t)
	pause := func(agent, reason string) error {
		_, err := y.s.Pause(y.ctx(), maya, agent, reason)
		return err
	}
	t.Run("a reason", func(t *testing.T) {
		for _, bad := range []string{"", " \n", strings.Repeat("x", 64<<10+1), "a\x00b", "\xff"} {
			refused(t, pause("", bad), task.CodeInvalidField, "reason")
			_, err := y.s.StopEverything(y.ctx(), maya, bad)
			refused(t, err, task.CodeInvalidField, "reason")
		}
		ok(t, pause("coder", " "+strings.Repeat("x", 64<<10-2)+" "))
		equal(t, "bytes", len(must(y.s.Pauses(y.ctx(), maya))[0].Reason), 64<<10-2)
		y.resume("coder")
	})
	t.Run("an agent that there is", func(t *testing.T) {
		refused(t, pause("nobody", "x"), task.CodeUnknownAgent, "agent", "coder")
	})
	t.Run("no pause that holds already", func(t *testing.T) {
		ok(t, pause("coder", "first"))
		y.Forward(1e9)
		e := refused(t, pause("coder", "second"), task.CodePaused,
			"user:maya", "2026-03-02T09:00:00.000Z", "first; resume it first to change the reason")
		equal(t, "retry after", e.Retry, 0)
		ok(t, pause("", "all of it"))
		refused(t, pause("", "again"), task.CodePaused, "the server", "all of it")
	})
	t.Run("and a resume a pause", func(t *testing.T) {
		for _, agent := range []string{"", "coder"} {
			y.resume(agent)
			_, err := y.s.Resume(y.ctx(), maya, agent, "")
			refused(t, err, task.CodeNotPaused)
		}
		_, err := y.s.Resume(y.ctx(), maya, "nobody", "")
		refused(t, err, task.CodeUnknownAgent, "unknown agent: nobody (known agents: ")
		_, err = y.s.Resume(y.ctx(), maya, "", strings.Repeat("x", 64<<10+1))
		refused(t, err, task.CodeInvalidField, "reason")
	})
	t.Run("that of an agent whose file is gone ends, too", func(t *testing.T) {
		y.define("passing", definition("tools: read"))
		ok(t, pause("passing", "x"))
		ok(t, y.s.DeleteAgent(y.ctx(), maya, "passing"))
		y.resume("passing")
	})
}

func TestStopEverythingEndsWhatRuns(t *testing.T) {
	y := newInstance(t, noApprove, func(c *Config) { c.MaxParallel = 2 })
	running := append(y.queueRuns("coder", 1), y.queueRuns("planner", 1)...)
	stopped := map[task.ID]error{}
	for range running {
		st := y.start()
		y.s.RegisterStop(st.Run.ID, func(cause error) { stopped[st.Run.ID] = cause })
	}
	queued := y.queueRuns("reviewer", 1)[0]
	sub := y.s.Hub().Subscribe("instance", "scheduler")
	defer sub.Close()
	out := must(y.s.StopEverything(y.ctx(), oleg, " a leak "))
	t.Run("with the reason, and their processes are told", func(t *testing.T) {
		equal(t, "runs", len(out.Runs), 2)
		for _, r := range running {
			now := y.run(r.ID)
			equal(t, "state", now.State(), task.State{Status: task.RunCanceled, Phase: task.PhaseBy})
			equal(t, "reason", now.Reason, "everything was stopped by user:oleg: a leak")
			equal(t, "cause", stopped[r.ID], ErrStopCanceled)
			equal(t, "task", y.task(r.TaskID).WorkStatus, task.Idle)
			equal(t, "failures", y.task(r.TaskID).Failures, 0)
		}
	})
	t.Run("and pauses the instance, on record", func(t *testing.T) {
		equal(t, "by", out.Pauses[0].By, "user:oleg")
		equal(t, "reason", out.Pauses[0].Reason, "a leak")
		events := must(y.s.Events(y.ctx(), maya, task.EventFilter{Limit: 500}))
		var kinds []string
		for _, e := range events[len(events)-8:] {
			kinds = append(kinds, e.Kind)
		}
		if !slices.Contains(kinds, task.EvInstancePaused) || kinds[7] != task.EvInstanceStopped {
			t.Error(kinds)
		}
		if topics := sub.Take(); !slices.Contains(topics, "instance") || !slices.Contains(topics, "scheduler") {
			t.Error(topics)
		}
		y.chain()
	})
	t.Run("what was queued stays, and starts after the resume", func(t *testing.T) {
		equal(t, "state", y.run(queued.ID).State(), task.State{Status: task.RunPending, Phase: task.PhaseQueued})
		y.nothingStarts()
		y.resume("")
		equal(t, "started", y.start().Run.ID, queued.ID)
	})
	t.Run("again while it is paused it ends what still runs, and the pause stays as it was", func(t *testing.T) {
		y.pause("")
		again := must(y.s.StopEverything(y.ctx(), oleg, "more"))
		equal(t, "runs", len(again.Runs), 1)
		equal(t, "by", again.Pauses[0].By, "user:maya")
		equal(t, "nothing left", len(must(y.s.StopEverything(y.ctx(), oleg, "more")).Runs), 0)
	})
}

func TestAResumeRestartsWhatWasStopped(t *testing.T) {
	y := newInstance(t, noApprove, func(c *Config) { c.MaxParallel = 3 })
	first, second, third := y.queueRuns("coder", 1)[0], y.queueRuns("planner", 1)[0], y.queueRuns("reviewer", 1)[0]
	for range 3 {
		y.start()
	}
	out := must(y.s.StopEverything(y.ctx(), oleg, "a leak"))
	equal(t, "can be restarted", out.Pauses[0].Stopped, 3)
	told := func() (list []string) {
		for _, n := range must(y.s.Inbox(y.ctx(), maya)).Notices {
			list = append(list, n.TaskID.String()+" "+n.Text)
		}
		return list
	}
	const notice = "Run 1 was stopped with everything else by user:oleg: a leak."
	if got := told(); len(got) != 3 || !strings.Contains(strings.Join(got, "\n"), notice) {
		t.Errorf("the inbox tells %q", got)
	}
	must(y.s.CompleteTask(y.ctx(), maya, third.TaskID, "by hand", 0))
	got := must(y.s.ResumeAndRestart(y.ctx(), oleg, ""))
	equal(t, "restarted", len(got.Runs), 2)
	equal(t, "left in the inbox", len(told()), 1) // that of the task that does not run again
	for i, was := range []*task.Run{first, second} {
		r := y.run(got.Runs[i])
		equal(t, "task", r.TaskID, was.TaskID)
		equal(t, "why", r.Why, "restarted after everything was stopped")
	}
	y.start()
	y.start()
	y.pause("")
	equal(t, "of a later pause", must(y.s.Pauses(y.ctx(), oleg))[0].Stopped, 0)
	equal(t, "restarted", len(must(y.s.ResumeAndRestart(y.ctx(), oleg, "")).Runs), 0)
}

func TestStopEverythingNamesWhatWasDelegated(t *testing.T) {
	y := delegating(t, func(c *Config) { c.MaxParallel = 3 })
	_, boss, own := y.inRun("boss")
	running := y.delegate(own, task.Delegation{AgentType: "lead"})
	lead := y.start()
	below := y.delegate(y.actor(lead), task.Delegation{})
	y.start()
	queued := y.delegate(own, task.Delegation{})
	want := []task.ID{boss.Run.ID, running.RunID, below.RunID, queued.RunID}
	out := must(y.s.StopEverything(y.ctx(), oleg, "a leak"))
	slices.Sort(out.Runs)
	equal(t, "runs", fmt.Sprint(out.Runs), fmt.Sprint(want))
	for _, id := range want {
		if got := y.state(id); !strings.HasPrefix(got, "canceled/") {
			t.Errorf("run %d is %s", id, got)
		}
	}
	events := must(y.s.Events(y.ctx(), maya, task.EventFilter{Limit: 500}))
	if last := events[len(events)-1]; last.Kind != task.EvInstanceStopped ||
		strings.Count(string(last.Changes), `"`+below.RunID.String()+`"`) != 1 {
		t.Errorf("the last event is %s %s", last.Kind, last.Changes)
	}
}

func TestEqualFailuresPauseTheAgent(t *testing.T) {
	// fail runs n tasks of the agent, each of which fails once and for good.
	fail := func(y *instance, n int, phase task.Phase, reason func(int) string) {
		for i := range n {
			tk := y.create(maya, "coder", noStart)
			must(y.s.RunNow(y.ctx(), maya, tk.ID))
			y.Forward(1e9)
			y.finish(y.start(), Finished{State: task.State{Status: task.RunFailed, Phase: phase}, Reason: reason(i), Permanent: true})
		}
	}
	same := func(int) string { return "no credit left" }
	pauses := func(y *instance) task.Pauses { return must(y.s.Pauses(y.ctx(), maya)) }
	t.Run("after five in a row, by the system, with the reason", func(t *testing.T) {
		y := newInstance(t)
		fail(y, 4, task.PhaseAuth, same)
		equal(t, "pauses after four", len(pauses(y)), 0)
		fail(y, 1, task.PhaseAuth, same)
		p := pauses(y).For("coder")
		if p == nil || p.By != task.System || p.Reason != "5 runs in a row failed in the same way, the last of them run 5: no credit left" {
			t.Fatalf("%+v", p)
		}
		equal(t, "others", pauses(y).For("planner") == nil, true)
	})
	t.Run("counted again after a resume", func(t *testing.T) {
		y := newInstance(t)
		fail(y, 5, task.PhaseAuth, same)
		y.resume("coder")
		fail(y, 4, task.PhaseAuth, same)
		equal(t, "pauses", len(pauses(y)), 0)
		fail(y, 1, task.PhaseAuth, same)
		equal(t, "pauses", len(pauses(y)), 1)
	})
	t.Run("not when they differ, or something went well between", func(t *testing.T) {
		y := newInstance(t)
		fail(y, 9, task.PhaseError, func(i int) string { return "exit code " + task.ID(i%4).String() })
		fail(y, 3, task.PhaseAuth, same)
		fail(y, 1, task.PhaseError, same)
		fail(y, 4, task.PhaseAuth, same)
		tk := y.create(maya, "coder", noStart)
		must(y.s.RunNow(y.ctx(), maya, tk.ID))
		y.finish(y.start(), completed("well"))
		fail(y, 4, task.PhaseAuth, same)
		equal(t, "pauses", len(pauses(y)), 0)
	})
	t.Run("nor for what the server did to them, nor when it is turned off", func(t *testing.T) {
		y := newInstance(t)
		fail(y, 6, task.PhaseLost, same)
		equal(t, "pauses", len(pauses(y)), 0)
		y = newInstance(t, func(c *Config) { c.EqualFailures = 0 })
		fail(y, 6, task.PhaseAuth, same)
		equal(t, "pauses", len(pauses(y)), 0)
	})
	t.Run("a changed definition begins again", func(t *testing.T) {
		y := newInstance(t)
		fail(y, 4, task.PhaseAuth, same)
		y.define("coder", definition("tools: read", "runner: script"))
		fail(y, 4, task.PhaseAuth, same)
		equal(t, "pauses", len(pauses(y)), 0)
	})
}
