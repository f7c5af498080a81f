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

// states returns the present states of runs, in words.
func (y *instance) state(run task.ID) string { return y.run(run).State().String() }

func TestADelegationThatFailsIsAnAnswer(t *testing.T) {
	y := delegating(t)
	_, parent, own := y.inRun("boss")
	d := y.delegate(own, task.Delegation{})
	for n := 1; n <= 3; n++ {
		st := y.start()
		ok(t, y.s.AppendTranscript(y.ctx(), st.Run.ID, st.Run.Lease, []task.Message{{Type: "text", Content: "The disk is full."}}))
		y.finish(st, failure(task.PhaseCrash))
		y.Forward(10 * time.Second)
		got := y.delegated(own, d.RunID)
		if n < 3 {
			equal(t, "status", got.Status, task.RunPending)
			equal(t, "last run", got.RunID == st.Run.ID, false)
			y.Forward(20 * time.Second << n)
			continue
		}
		equal(t, "status", got.Status, task.RunFailed)
		equal(t, "success", got.Success, false)
		if !strings.Contains(got.Error, "agent hand failed (crash) in attempt 3: it broke") {
			t.Errorf("error is %q", got.Error)
		}
		equal(t, "last words", got.LastWords, "The disk is full.")
		equal(t, "any run names it", y.delegated(own, st.Run.ID).Error, got.Error)
	}
	equal(t, "the parent continues", y.state(parent.Run.ID), "running/working")
}

func TestALimitThatEndsADelegatedRunIsFinal(t *testing.T) {
	for _, phase := range []task.Phase{task.PhaseTimeout, task.PhaseTokens, task.PhaseTurns, task.PhaseCost} {
		y := delegating(t)
		_, _, own := y.inRun("boss")
		d := y.delegate(own, task.Delegation{})
		y.finish(y.start(), failure(phase))
		equal(t, string(phase), y.delegated(own, d.RunID).Status, task.RunFailed)
	}
}

func TestADelegationIsApprovedByPolicy(t *testing.T) {
	y := delegating(t, func(c *Config) { c.Policy = task.ApproveDelegated })
	_, _, own := y.inRun("boss")
	t.Run("what an agent asks for waits, and says so", func(t *testing.T) {
		d := y.delegate(own, task.Delegation{})
		equal(t, "status", d.Status, task.RunPending)
		equal(t, "phase", d.Phase, task.PhaseApproval)
		y.nothingStarts()
		must(y.s.ApproveRun(y.ctx(), rita, d.RunID, Approve{Limits: task.Limits{MaxTokens: 5}}))
		st := y.start()
		equal(t, "run", st.Run.ID, d.RunID)
		equal(t, "tokens", st.Spec.Limits.MaxTokens, 5)
		y.finish(st, completed("ok"))
		equal(t, "success", y.delegated(own, d.RunID).Success, true)
	})
	t.Run("the reason of a no reaches the agent that asked", func(t *testing.T) {
		d := y.delegate(own, task.Delegation{})
		must(y.s.DenyRun(y.ctx(), rita, d.RunID, "not today", 0))
		got := y.delegated(own, d.RunID)
		equal(t, "status", got.Status, task.RunCanceled)
		equal(t, "phase", got.Phase, task.PhaseDenied)
		equal(t, "error", got.Error, "denied by user:rita: not today")
	})
	t.Run("what a person asks for is approved by that", func(t *testing.T) {
		equal(t, "phase", y.delegate(oleg, task.Delegation{}).Phase, task.PhaseQueued)
	})
}

func TestTheEndOfARunEndsWhatItDelegated(t *testing.T) {
	chain := func(t *testing.T) (y *instance, tk *task.Task, root, child, grandchild *Start) {
		y = delegating(t, wakes)
		tk, root, own := y.inRun("boss", steps("a"))
		y.delegate(own, task.Delegation{AgentType: "lead", StepIndex: ptr(0)})
		child = y.start()
		y.delegate(y.actor(child), task.Delegation{})
		return y, tk, root, child, y.start()
	}
	gone := func(t *testing.T, y *instance, root, child, grandchild *Start) {
		for _, st := range []*Start{child, grandchild} {
			equal(t, "run", y.state(st.Run.ID), "canceled/task_closed")
			equal(t, "task", y.task(st.Run.TaskID).Status, task.Canceled)
		}
		if got := y.task(child.Run.TaskID).Summary; !strings.Contains(got, "run "+root.Run.ID.String()+", which delegated it") {
			t.Errorf("the reason is %q", got)
		}
	}
	t.Run("canceled", func(t *testing.T) {
		y, _, root, child, grandchild := chain(t)
		stopped := map[task.ID]bool{}
		for _, st := range []*Start{root, child, grandchild} {
			y.s.RegisterStop(st.Run.ID, func(error) { stopped[st.Run.ID] = true })
		}
		must(y.s.CancelRun(y.ctx(), oleg, root.Run.ID, "wrong way"))
		gone(t, y, root, child, grandchild)
		equal(t, "processes told", len(stopped), 3)
		y.chain()
	})
	t.Run("failed, and the next attempt starts", func(t *testing.T) {
		y, tk, root, child, grandchild := chain(t)
		y.finish(root, failure(task.PhaseTimeout))
		gone(t, y, root, child, grandchild)
		equal(t, "cause", y.openRun(tk.ID).Cause, task.CauseRetry)
	})
	t.Run("with its canceled task", func(t *testing.T) {
		y, tk, root, child, grandchild := chain(t)
		c := must(y.s.CancelTask(y.ctx(), maya, tk.ID, "no need"))
		equal(t, "canceled tasks", len(c.Canceled), 3)
		gone(t, y, root, child, grandchild)
	})
	t.Run("waiting for approval", func(t *testing.T) {
		y := delegating(t, func(c *Config) { c.Policy = task.ApproveDelegated })
		_, root, own := y.inRun("boss")
		d := y.delegate(own, task.Delegation{})
		must(y.s.CancelRun(y.ctx(), maya, root.Run.ID, ""))
		equal(t, "run", y.state(d.RunID), "canceled/task_closed")
		equal(t, "waiting", len(must(y.s.Waiting(y.ctx(), maya))), 0)
	})
	t.Run("but not when it completed: its owner is woken by what ends later", func(t *testing.T) {
		y, tk, root, child, grandchild := chain(t)
		y.finish(root, completed("I continue when it is done"))
		equal(t, "child", y.state(child.Run.ID), "running/working")
		y.finish(grandchild, completed("low"))
		equal(t, "run of the owner", y.openRun(tk.ID), nil)
		must(y.s.DelegatedRun(y.ctx(), y.actor(child), grandchild.Run.ID, 0))
		y.finish(child, completed("mid"))
		equal(t, "cause", y.openRun(tk.ID).Cause, task.CauseWake)
	})
	t.Run("nor when its task was completed: subtasks continue", func(t *testing.T) {
		y, tk, _, child, _ := chain(t)
		must(y.s.CompleteTask(y.ctx(), maya, tk.ID, "enough", 0))
		equal(t, "child", y.state(child.Run.ID), "running/working")
	})
}

func TestOneFollowUpForWhatTheParentWasNotTold(t *testing.T) {
	y := delegating(t, wakes)
	after := func(told bool) *task.Run {
		tk, parent, own := y.inRun("boss")
		d := y.delegate(own, task.Delegation{})
		e := y.delegate(own, task.Delegation{})
		y.finish(y.start(), completed("one"))
		y.finish(y.start(), completed("two"))
		y.delegated(own, d.RunID)
		if told {
			y.delegated(own, e.RunID)
		}
		y.finish(parent, completed("through"))
		r := y.openRun(tk.ID)
		if r != nil {
			must(y.s.CancelRun(y.ctx(), maya, r.ID, ""))
		}
		return r
	}
	if r := after(true); r != nil {
		t.Errorf("a run that was told of everything is followed by run %d (%s)", r.ID, r.Cause)
	}
	if r := after(false); r == nil || r.Cause != task.CauseFollowUp {
		t.Errorf("a run that was not told of everything is followed by %v", r)
	}
}

func TestStoppingADelegation(t *testing.T) {
	y := delegating(t, wakes)
	tk, parent, own := y.inRun("boss")
	d := y.delegate(own, task.Delegation{AgentType: "lead"})
	child := y.start()
	e := y.delegate(y.actor(child), task.Delegation{})
	t.Run("is for the asking agent, the owners above and people", func(t *testing.T) {
		for _, a := range []task.Actor{coder, y.actor(child), agentActor("hand"), vera} {
			run := d.RunID
			if a.Name == "lead" {
				run = parent.Run.ID // was not delegated
			}
			if _, err := y.s.StopDelegated(y.ctx(), a, run, ""); err == nil {
				t.Errorf("%s stopped it", a.Name)
			}
		}
		_, err := y.s.DelegatedRun(y.ctx(), coder, d.RunID, 0)
		refused(t, err, task.CodeForbidden, "delegated by boss")
	})
	t.Run("cancels its task and all below, and the parent continues", func(t *testing.T) {
		got := must(y.s.StopDelegated(y.ctx(), own, d.RunID, "found it myself"))
		equal(t, "status", got.Status, task.RunCanceled)
		equal(t, "error", got.Error, "task "+d.TaskID.String()+" was canceled: stopped by boss: found it myself")
		equal(t, "task", y.task(d.TaskID).Status, task.Canceled)
		equal(t, "task below", y.task(e.TaskID).Status, task.Canceled)
		equal(t, "parent", y.state(parent.Run.ID), "running/working")
		equal(t, "task above", y.task(tk.ID).Status, task.Active)
	})
	t.Run("works once", func(t *testing.T) {
		_, err := y.s.StopDelegated(y.ctx(), own, d.RunID, "")
		refused(t, err, task.CodeRunEnded)
	})
	t.Run("needs a run that is there and was delegated", func(t *testing.T) {
		_, err := y.s.StopDelegated(y.ctx(), own, 999, "")
		refused(t, err, task.CodeRunNotFound)
		_, err = y.s.DelegatedRun(y.ctx(), own, parent.Run.ID, 0)
		refused(t, err, task.CodeRunNotFound, "was not delegated")
	})
}

func TestWaitingForADelegation(t *testing.T) {
	t.Run("the end answers at once", func(t *testing.T) {
		y := delegating(t)
		_, _, own := y.inRun("boss")
		d := y.delegate(own, task.Delegation{})
		st := y.start()
		got := make(chan task.Delegated, 1)
		subs := y.s.Hub().Subscribers()
		go func() {
			v, err := y.s.DelegatedRun(y.ctx(), own, d.RunID, 50*time.Second)
			if err != nil {
				t.Error(err)
			}
			got <- v
		}()
		for y.s.Hub().Subscribers() == subs { // until it waits
			<-time.After(time.Millisecond)
		}
		y.finish(st, completed("there"))
		equal(t, "summary", (<-got).Summary, "there")
	})
	t.Run("so does the end of the wait, with its state", func(t *testing.T) {
		y := delegating(t)
		d := y.delegate(maya, task.Delegation{})
		equal(t, "status", must(y.s.DelegatedRun(y.ctx(), maya, d.RunID, time.Millisecond)).Status, task.RunPending)
		equal(t, "subscriptions", y.s.Hub().Subscribers(), 0)
	})
	t.Run("a caller that is gone waits no longer", func(t *testing.T) {
		y := delegating(t)
		d := y.delegate(maya, task.Delegation{})
		ctx, cancel := context.WithCancel(y.ctx())
		cancel()
		if _, err := y.s.DelegatedRun(ctx, maya, d.RunID, time.Minute/2); err == nil {
			t.Error("it answered")
		}
	})
	t.Run("the wait is 0 to 50 seconds", func(t *testing.T) {
		y := delegating(t)
		d := y.delegate(maya, task.Delegation{})
		for _, w := range []time.Duration{-1, 51 * time.Second} {
			_, err := y.s.DelegatedRun(y.ctx(), maya, d.RunID, w)
			refused(t, err, task.CodeInvalidField, "waitSeconds")
		}
	})
}

func TestARunDoesNotStarveWhatItWaitsFor(t *testing.T) {
	t.Run("with one place in all", func(t *testing.T) {
		y := delegating(t, func(c *Config) { c.MaxParallel = 1 })
		_, root, own := y.inRun("boss")
		other := y.create(maya, "coder", noStart)
		must(y.s.RunNow(y.ctx(), maya, other.ID))
		d, e := y.delegate(own, task.Delegation{}), y.delegate(own, task.Delegation{})
		first := y.start()
		equal(t, "the delegated run", first.Run.ID, d.RunID)
		y.nothingStarts() // neither the second of them nor the other task's
		y.finish(first, completed("ok"))
		second := y.start()
		equal(t, "then the second", second.Run.ID, e.RunID)
		y.finish(second, completed("ok"))
		y.nothingStarts()
		y.finish(root, completed("ok"))
		equal(t, "then the other", y.start().Run.TaskID, other.ID)
	})
	t.Run("with one place for the agent, which delegates to itself", func(t *testing.T) {
		y := delegating(t)
		_, _, own := y.inRun("boss")
		d := y.delegate(own, task.Delegation{AgentType: "boss"})
		equal(t, "run", y.start().Run.ID, d.RunID)
	})
	t.Run("two agents of one place that wait for each other", func(t *testing.T) {
		y := delegating(t)
		y.define("twin", definition(bossTools, "runner: script"))
		_, _, a := y.inRun("boss")
		_, _, b := y.inRun("twin")
		y.delegate(a, task.Delegation{AgentType: "twin"})
		y.delegate(b, task.Delegation{AgentType: "boss"})
		y.start()
		y.start()
	})
	t.Run("but an agent at work keeps its place", func(t *testing.T) {
		y := delegating(t)
		_, _, own := y.inRun("boss")
		y.inRun("coder")
		d := y.delegate(own, task.Delegation{AgentType: "coder"})
		y.nothingStarts()
		equal(t, "status", y.delegated(own, d.RunID).Phase, task.PhaseQueued)
	})
	t.Run("and a paused agent starts nothing", func(t *testing.T) {
		y := delegating(t)
		_, _, own := y.inRun("boss")
		y.delegate(own, task.Delegation{})
		must(y.s.Pause(y.ctx(), maya, "hand", "a look"))
		y.nothingStarts()
		y.refuses(own, task.Delegation{}, task.CodePaused)
	})
}

func TestALongSummaryIsCutHonestly(t *testing.T) {
	y := delegating(t)
	d := y.delegate(maya, task.Delegation{})
	y.finish(y.start(), completed(strings.Repeat("ä", 9000)))
	got := y.delegated(maya, d.RunID).Summary
	equal(t, "characters", len([]rune(got)), task.MaxSummaryRun)
	if want := "ä… (cut; the whole transcript: run " + d.RunID.String() + ")"; !strings.HasSuffix(got, want) {
		t.Errorf("it ends with %q", got[len(got)-80:])
	}
}

func TestWhatTheLogTellsOfDelegation(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		var log bytes.Buffer
		y := delegating(t, func(c *Config) {
			c.TaskTool.Verbose, c.Log = verbose, slog.New(slog.NewTextHandler(&log, nil))
		})
		_, parent, own := y.inRun("boss")
		y.delegate(own, task.Delegation{Task: "Look here"})
		st := y.start()
		for _, s := range []*Start{parent, st} {
			ok(t, y.s.AppendTranscript(y.ctx(), s.Run.ID, s.Run.Lease,
				[]task.Message{{Role: task.SpeakerAssistant, Type: "text", Content: "line of " + s.Run.Agent}}))
		}
		y.finish(st, completed("ok"))
		for words, want := range map[string]bool{
			`msg="task delegated"`: true, `task="Look here"`: true, `msg="delegated run ended"`: true, "success=true": true, "tokens=0": true,
			`text="line of hand"`: verbose, "line of boss": false,
		} {
			if strings.Contains(log.String(), words) != want {
				t.Errorf("verbose %v: %q in the log: want %v\n%s", verbose, words, want, log.String())
			}
		}
	}
}
