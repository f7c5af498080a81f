package service

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// state returns the current state of a run as text.
func (inst *instance) state(run task.ID) string { return inst.run(run).State().String() }

func TestAFailedDelegationReturnsAResult(t *testing.T) {
	t.Parallel()
	inst := delegating(t)
	_, parent, own := inst.inRun("boss")
	d := inst.delegate(own, task.Delegation{})
	for n := 1; n <= 3; n++ {
		st := inst.start()
		ok(t, inst.s.AppendTranscript(inst.ctx(), st.Run.ID, st.Run.Lease, []task.Message{{Type: "text", Content: "The disk is full."}}))
		inst.finish(st, failure(task.PhaseCrash))
		inst.Forward(10 * time.Second)
		got := inst.delegated(own, d.RunID)
		if n < 3 {
			equal(t, "status", got.Status, task.RunPending)
			equal(t, "the last run is the first", got.RunID == st.Run.ID, false)
			inst.Forward(20 * time.Second << n)
			continue
		}
		equal(t, "status", got.Status, task.RunFailed)
		equal(t, "success", got.Success, false)
		if !strings.Contains(got.Error, "agent hand failed (crash) in attempt 3: it broke") {
			t.Errorf("got error %q", got.Error)
		}
		equal(t, "last words", got.LastWords, "The disk is full.")
		equal(t, "any run names it", inst.delegated(own, st.Run.ID).Error, got.Error)
	}
	equal(t, "the parent continues", inst.state(parent.Run.ID), "running/working")
}

func TestALimitThatEndsADelegatedRunIsFinal(t *testing.T) {
	t.Parallel()
	for _, phase := range []task.Phase{task.PhaseTimeout, task.PhaseTokens, task.PhaseTurns, task.PhaseCost} {
		inst := delegating(t)
		_, _, own := inst.inRun("boss")
		d := inst.delegate(own, task.Delegation{})
		inst.finish(inst.start(), failure(phase))
		equal(t, string(phase), inst.delegated(own, d.RunID).Status, task.RunFailed)
	}
	// Its parent would wait just as long, with its timeouts paused.
	for after, want := range map[time.Duration]task.RunStatus{time.Minute: task.RunPending, time.Hour: task.RunFailed} {
		inst := delegating(t)
		_, _, own := inst.inRun("boss")
		d := inst.delegate(own, task.Delegation{})
		f := failure(task.PhaseError)
		f.After = after
		inst.finish(inst.start(), f)
		equal(t, "a provider that requests a wait of "+after.String(), inst.delegated(own, d.RunID).Status, want)
	}
}

func TestADelegationIsApprovedByPolicy(t *testing.T) {
	t.Parallel()
	inst := delegating(t, func(c *Config) { c.Policy = task.ApproveDelegated })
	_, _, own := inst.inRun("boss")
	t.Run("a run requested by an agent waits and says so", func(t *testing.T) {
		d := inst.delegate(own, task.Delegation{})
		equal(t, "status", d.Status, task.RunPending)
		equal(t, "phase", d.Phase, task.PhaseApproval)
		inst.nothingStarts()
		must(inst.s.ApproveRun(inst.ctx(), rita, d.RunID, Approve{Limits: task.Limits{MaxTokens: 5}}))
		st := inst.start()
		equal(t, "run", st.Run.ID, d.RunID)
		equal(t, "tokens", st.Spec.Limits.MaxTokens, 5)
		inst.finish(st, completed("ok"))
		equal(t, "success", inst.delegated(own, d.RunID).Success, true)
	})
	t.Run("the reason of a denial reaches the requesting agent", func(t *testing.T) {
		d := inst.delegate(own, task.Delegation{})
		must(inst.s.DenyRun(inst.ctx(), rita, d.RunID, "not today", 0))
		got := inst.delegated(own, d.RunID)
		equal(t, "status", got.Status, task.RunCanceled)
		equal(t, "phase", got.Phase, task.PhaseDenied)
		equal(t, "error", got.Error, "denied by rita: not today")
	})
	t.Run("a person's request is its approval", func(t *testing.T) {
		equal(t, "phase", inst.delegate(oleg, task.Delegation{}).Phase, task.PhaseQueued)
	})
}

func TestTheEndOfARunEndsItsDelegatedRuns(t *testing.T) {
	t.Parallel()
	chain := func(t *testing.T) (inst *instance, tk *task.Task, root, child, grandchild *Start) {
		inst = delegating(t, wakes)
		tk, root, own := inst.inRun("boss", steps("a"))
		inst.delegate(own, task.Delegation{AgentType: "lead", StepIndex: ptr(0)})
		child = inst.start()
		inst.delegate(inst.actor(child), task.Delegation{})
		return inst, tk, root, child, inst.start()
	}
	wantCanceled := func(t *testing.T, inst *instance, root, child, grandchild *Start) {
		for _, st := range []*Start{child, grandchild} {
			equal(t, "run", inst.state(st.Run.ID), "canceled/task_closed")
			equal(t, "task", inst.task(st.Run.TaskID).Status, task.Canceled)
		}
		if got := inst.task(child.Run.TaskID).Summary; !strings.Contains(got, "run "+root.Run.ID.String()+", which delegated it") {
			t.Errorf("got reason %q", got)
		}
	}
	t.Run("canceled", func(t *testing.T) {
		inst, _, root, child, grandchild := chain(t)
		stopped := map[task.ID]bool{}
		for _, st := range []*Start{root, child, grandchild} {
			inst.s.RegisterStop(st.Run.ID, func(error) { stopped[st.Run.ID] = true })
		}
		must(inst.s.CancelRun(inst.ctx(), oleg, root.Run.ID, "wrong way"))
		wantCanceled(t, inst, root, child, grandchild)
		equal(t, "stopped processes", len(stopped), 3)
		inst.checkChain()
	})
	t.Run("failed, and the next attempt starts", func(t *testing.T) {
		inst, tk, root, child, grandchild := chain(t)
		inst.finish(root, failure(task.PhaseTimeout))
		wantCanceled(t, inst, root, child, grandchild)
		equal(t, "cause", inst.openRun(tk.ID).Cause, task.CauseRetry)
	})
	t.Run("with its canceled task", func(t *testing.T) {
		inst, tk, root, child, grandchild := chain(t)
		c := must(inst.s.CancelTask(inst.ctx(), maya, tk.ID, "no need"))
		equal(t, "canceled tasks", len(c.Canceled), 3)
		wantCanceled(t, inst, root, child, grandchild)
	})
	t.Run("waiting for approval", func(t *testing.T) {
		inst := delegating(t, func(c *Config) { c.Policy = task.ApproveDelegated })
		_, root, own := inst.inRun("boss")
		d := inst.delegate(own, task.Delegation{})
		must(inst.s.CancelRun(inst.ctx(), maya, root.Run.ID, ""))
		equal(t, "run", inst.state(d.RunID), "canceled/task_closed")
		equal(t, "waiting", len(must(inst.s.Waiting(inst.ctx(), maya))), 0)
	})
	t.Run("but not when it completed: later ends wake its owner", func(t *testing.T) {
		inst, tk, root, child, grandchild := chain(t)
		inst.finish(root, completed("I continue when it is done"))
		equal(t, "child", inst.state(child.Run.ID), "running/working")
		inst.finish(grandchild, completed("low"))
		equal(t, "run of the owner", inst.openRun(tk.ID), nil)
		must(inst.s.DelegatedRun(inst.ctx(), inst.actor(child), grandchild.Run.ID, 0))
		inst.finish(child, completed("mid"))
		equal(t, "cause", inst.openRun(tk.ID).Cause, task.CauseWake)
	})
	t.Run("nor when its task was completed: subtasks continue", func(t *testing.T) {
		inst, tk, _, child, _ := chain(t)
		must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "enough", 0))
		equal(t, "child", inst.state(child.Run.ID), "running/working")
	})
}

func TestOneFollowUpRunForUnreportedResults(t *testing.T) {
	t.Parallel()
	inst := delegating(t, wakes)
	after := func(reported bool) *task.Run {
		tk, parent, own := inst.inRun("boss")
		d := inst.delegate(own, task.Delegation{})
		e := inst.delegate(own, task.Delegation{})
		inst.finish(inst.start(), completed("one"))
		inst.finish(inst.start(), completed("two"))
		inst.delegated(own, d.RunID)
		if reported {
			inst.delegated(own, e.RunID)
		}
		inst.finish(parent, completed("through"))
		r := inst.openRun(tk.ID)
		if r != nil {
			must(inst.s.CancelRun(inst.ctx(), maya, r.ID, ""))
		}
		return r
	}
	if r := after(true); r != nil {
		t.Errorf("a run that got every result is followed by run %d (%s)", r.ID, r.Cause)
	}
	if r := after(false); r == nil || r.Cause != task.CauseFollowUp {
		t.Errorf("a run that did not get every result is followed by %v", r)
	}
}

func TestStoppingADelegation(t *testing.T) {
	t.Parallel()
	inst := delegating(t, wakes)
	tk, parent, own := inst.inRun("boss")
	d := inst.delegate(own, task.Delegation{AgentType: "lead"})
	child := inst.start()
	e := inst.delegate(inst.actor(child), task.Delegation{})
	t.Run("is for the delegating agent, the owners of parents, and people", func(t *testing.T) {
		for _, a := range []task.Actor{coder, inst.actor(child), agentActor("hand"), vera} {
			run := d.RunID
			if a.Name == "lead" {
				run = parent.Run.ID // this run was not delegated
			}
			if _, err := inst.s.StopDelegated(inst.ctx(), a, run, ""); err == nil {
				t.Errorf("%s stopped it", a.Name)
			}
		}
		_, err := inst.s.DelegatedRun(inst.ctx(), coder, d.RunID, 0)
		refused(t, err, task.CodeForbidden, "delegated by boss")
	})
	t.Run("cancels its task and its subtasks, and the parent continues", func(t *testing.T) {
		got := must(inst.s.StopDelegated(inst.ctx(), own, d.RunID, "found it myself"))
		equal(t, "status", got.Status, task.RunCanceled)
		equal(t, "error", got.Error, "task "+d.TaskID.String()+" was canceled: stopped by boss: found it myself")
		equal(t, "task", inst.task(d.TaskID).Status, task.Canceled)
		equal(t, "subtask", inst.task(e.TaskID).Status, task.Canceled)
		equal(t, "parent", inst.state(parent.Run.ID), "running/working")
		equal(t, "parent task", inst.task(tk.ID).Status, task.Active)
	})
	t.Run("works once", func(t *testing.T) {
		_, err := inst.s.StopDelegated(inst.ctx(), own, d.RunID, "")
		refused(t, err, task.CodeRunEnded)
	})
	t.Run("needs an existing, delegated run", func(t *testing.T) {
		_, err := inst.s.StopDelegated(inst.ctx(), own, 999, "")
		refused(t, err, task.CodeRunNotFound)
		_, err = inst.s.DelegatedRun(inst.ctx(), own, parent.Run.ID, 0)
		refused(t, err, task.CodeRunNotFound, "was not delegated")
	})
}

func TestWaitingForADelegation(t *testing.T) {
	t.Parallel()
	t.Run("the end of the run ends the wait at once", func(t *testing.T) {
		inst := delegating(t)
		_, _, own := inst.inRun("boss")
		d := inst.delegate(own, task.Delegation{})
		st := inst.start()
		got := make(chan task.Delegated, 1)
		subs := inst.s.Hub().Subscribers()
		go func() {
			v, err := inst.s.DelegatedRun(inst.ctx(), own, d.RunID, 50*time.Second)
			if err != nil {
				t.Error(err)
			}
			got <- v
		}()
		for inst.s.Hub().Subscribers() == subs { // until the call waits
			<-time.After(time.Millisecond)
		}
		inst.finish(st, completed("there"))
		equal(t, "summary", (<-got).Summary, "there")
	})
	t.Run("a timeout returns the state", func(t *testing.T) {
		inst := delegating(t)
		d := inst.delegate(maya, task.Delegation{})
		equal(t, "status", must(inst.s.DelegatedRun(inst.ctx(), maya, d.RunID, time.Millisecond)).Status, task.RunPending)
		equal(t, "subscriptions", inst.s.Hub().Subscribers(), 0)
	})
	t.Run("a disconnected caller stops waiting", func(t *testing.T) {
		inst := delegating(t)
		d := inst.delegate(maya, task.Delegation{})
		ctx, cancel := context.WithCancel(inst.ctx())
		cancel()
		if _, err := inst.s.DelegatedRun(ctx, maya, d.RunID, time.Minute/2); err == nil {
			t.Error("got a result")
		}
	})
	t.Run("the wait is 0 to 50 seconds", func(t *testing.T) {
		inst := delegating(t)
		d := inst.delegate(maya, task.Delegation{})
		for _, w := range []time.Duration{-1, 51 * time.Second} {
			_, err := inst.s.DelegatedRun(inst.ctx(), maya, d.RunID, w)
			refused(t, err, task.CodeInvalidField, "waitSeconds")
		}
	})
}

func TestARunDoesNotStarveTheRunsItWaitsFor(t *testing.T) {
	t.Parallel()
	t.Run("with one slot in total", func(t *testing.T) {
		inst := delegating(t, func(c *Config) { c.MaxParallel = 1 })
		_, root, own := inst.inRun("boss")
		other := inst.create(maya, "coder", noStart)
		must(inst.s.RunNow(inst.ctx(), maya, other.ID))
		d, e := inst.delegate(own, task.Delegation{}), inst.delegate(own, task.Delegation{})
		first := inst.start()
		equal(t, "the delegated run", first.Run.ID, d.RunID)
		inst.nothingStarts() // neither the second delegated run nor the other task's run
		inst.finish(first, completed("ok"))
		second := inst.start()
		equal(t, "then the second", second.Run.ID, e.RunID)
		inst.finish(second, completed("ok"))
		inst.nothingStarts()
		inst.finish(root, completed("ok"))
		equal(t, "then the other", inst.start().Run.TaskID, other.ID)
	})
	t.Run("with one slot for the agent, which delegates to itself", func(t *testing.T) {
		inst := delegating(t)
		_, _, own := inst.inRun("boss")
		d := inst.delegate(own, task.Delegation{AgentType: "boss"})
		equal(t, "run", inst.start().Run.ID, d.RunID)
	})
	t.Run("two agents with one slot each that wait for each other", func(t *testing.T) {
		inst := delegating(t)
		inst.define("twin", definition(bossTools, "runner: script"))
		_, _, a := inst.inRun("boss")
		_, _, b := inst.inRun("twin")
		inst.delegate(a, task.Delegation{AgentType: "twin"})
		inst.delegate(b, task.Delegation{AgentType: "boss"})
		inst.start()
		inst.start()
	})
	t.Run("but a working agent keeps its slot", func(t *testing.T) {
		inst := delegating(t)
		_, _, own := inst.inRun("boss")
		inst.inRun("coder")
		d := inst.delegate(own, task.Delegation{AgentType: "coder"})
		inst.nothingStarts()
		equal(t, "status", inst.delegated(own, d.RunID).Phase, task.PhaseQueued)
	})
	t.Run("and a paused agent starts nothing", func(t *testing.T) {
		inst := delegating(t)
		_, _, own := inst.inRun("boss")
		inst.delegate(own, task.Delegation{})
		must(inst.s.Pause(inst.ctx(), maya, "hand", "a look"))
		inst.nothingStarts()
		inst.wantRefused(own, task.Delegation{}, task.CodePaused)
	})
}

func TestACutSummarySaysSo(t *testing.T) {
	t.Parallel()
	inst := delegating(t)
	d := inst.delegate(maya, task.Delegation{})
	inst.finish(inst.start(), completed(strings.Repeat("ä", 9000)))
	got := inst.delegated(maya, d.RunID).Summary
	equal(t, "characters", len([]rune(got)), task.MaxSummaryRun)
	if want := "ä… (cut; the whole transcript: run " + d.RunID.String() + ")"; !strings.HasSuffix(got, want) {
		t.Errorf("got end %q", got[len(got)-80:])
	}
}

func TestDelegationLogLines(t *testing.T) {
	t.Parallel()
	for _, verbose := range []bool{false, true} {
		var log bytes.Buffer
		inst := delegating(t, func(c *Config) {
			c.TaskTool.Verbose, c.Log = verbose, slog.New(slog.NewTextHandler(&log, nil))
		})
		_, parent, own := inst.inRun("boss")
		inst.delegate(own, task.Delegation{Task: "Look here"})
		st := inst.start()
		for _, s := range []*Start{parent, st} {
			ok(t, inst.s.AppendTranscript(inst.ctx(), s.Run.ID, s.Run.Lease,
				[]task.Message{{Role: task.SpeakerAssistant, Type: "text", Content: "line of " + s.Run.Agent}}))
		}
		inst.finish(st, completed("ok"))
		for words, want := range map[string]bool{
			`msg="task delegated"`: true, `task="Look here"`: true, `msg="delegated run ended"`: true, "success=true": true, "tokens=0": true,
			`text="line of hand"`: verbose, "line of boss": false,
		} {
			if strings.Contains(log.String(), words) != want {
				t.Errorf("verbose %v: %q in the log, want %v\n%s", verbose, words, want, log.String())
			}
		}
	}
}
