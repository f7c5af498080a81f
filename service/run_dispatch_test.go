package service

import (
	"testing"
	"time"

	"taskyard/task"
)

// queueRuns creates n tasks of an agent with a queued run each.
func (inst *instance) queueRuns(agent string, n int) []*task.Run {
	inst.t.Helper()
	var out []*task.Run
	for range n {
		tk := inst.create(maya, agent, noStart)
		out = append(out, must(inst.s.RunNow(inst.ctx(), maya, tk.ID)))
	}
	return out
}

func TestConcurrentRunsAreLimited(t *testing.T) {
	t.Parallel()
	t.Run("one per agent unless its definition allows more", func(t *testing.T) {
		inst := newInstance(t)
		runs := inst.queueRuns("coder", 2)
		st := inst.start()
		equal(t, "first", st.Run.ID, runs[0].ID)
		inst.nothingStarts()
		inst.queueRuns("reviewer", 3)
		inst.start()
		inst.start()
		inst.nothingStarts()
		inst.finish(st, completed("ok"))
		equal(t, "next of coder", inst.start().Run.ID, runs[1].ID)
	})
	t.Run("four in total", func(t *testing.T) {
		inst := newInstance(t)
		inst.define("coder", definition("tools: read", "max_parallel: 10"))
		runs := inst.queueRuns("coder", 6)
		var st *Start
		for i := range 4 {
			st = inst.start()
			equal(t, "in order", st.Run.ID, runs[i].ID)
		}
		inst.nothingStarts()
		inst.finish(st, completed("ok"))
		inst.start()
		inst.nothingStarts()
	})
	t.Run("as many by ticks as scheduler.concurrency, plus others", func(t *testing.T) {
		inst := newInstance(t)
		inst.create(maya, "coder", noStart)
		inst.create(maya, "planner", noStart)
		equal(t, "queued", must(inst.s.Tick(inst.ctx(), "cron")).Queued, 2)
		st := inst.start()
		inst.nothingStarts()
		manual := inst.queueRuns("reviewer", 1)[0]
		equal(t, "manual", inst.start().Run.ID, manual.ID)
		inst.finish(st, completed("ok"))
		equal(t, "cause", inst.start().Run.Cause, task.CauseTick)
	})
	t.Run("none of a task whose previous process has not ended", func(t *testing.T) {
		inst := newInstance(t)
		r := inst.queueRuns("coder", 1)[0]
		st, _, err := inst.s.NextRun(inst.ctx(), map[task.ID]bool{r.TaskID: true})
		ok(t, err)
		if st != nil {
			t.Fatal("the run started")
		}
		inst.start()
	})
	t.Run("the dispatcher learns when the next retry may start, whatever else waits", func(t *testing.T) {
		inst := newInstance(t)
		inst.queueRuns("coder", 2)
		inst.start() // the second run of coder waits for this one to end
		inst.queueRuns("planner", 1)
		inst.finish(inst.start(), failure(task.PhaseError))
		st, later, err := inst.s.NextRun(inst.ctx(), nil)
		ok(t, err)
		if st != nil {
			t.Fatalf("got run %d, want none", st.Run.ID)
		}
		equal(t, "later", later, inst.s.Now().Add(30*time.Second))
	})
}

func TestStartOfARun(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart)
	r := must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
	st := inst.start()
	t.Run("claims its task", func(t *testing.T) {
		now := inst.task(tk.ID)
		equal(t, "work status", now.WorkStatus, task.Working)
		equal(t, "holder", now.Claim.Holder, "coder")
		equal(t, "claim", now.Claim.ID, st.Run.ClaimID)
	})
	t.Run("stores the prompts in its transcript and the definition's text", func(t *testing.T) {
		lines := must(inst.s.Transcript(inst.ctx(), vera, r.ID, 0, 10))
		equal(t, "lines", len(lines), 2)
		equal(t, "system prompt", lines[0].Content, st.Spec.SystemPrompt)
		equal(t, "prompt", lines[1].Content, st.Spec.Prompt)
		equal(t, "definition", st.Run.DefinitionHash, st.Agent.Hash)
	})
	t.Run("a heartbeat renews run and claim", func(t *testing.T) {
		inst.Forward(50 * time.Second)
		ok(t, inst.s.RunHeartbeat(inst.ctx(), r.ID, st.Run.Lease))
		inst.Forward(50 * time.Second)
		equal(t, "lost", len(must(inst.s.LeaseLost(inst.ctx()))), 0)
		equal(t, "claim", inst.task(tk.ID).Claim.ExpiresAt, inst.s.Now().Add(2*time.Hour-50*time.Second))
	})
	t.Run("a second run is refused during the first", func(t *testing.T) {
		_, err := inst.s.RunNow(inst.ctx(), maya, tk.ID)
		refused(t, err, task.CodeRunOpen, "in flight")
	})
	t.Run("its end releases the claim and revokes its token", func(t *testing.T) {
		own := inst.actor(st)
		equal(t, "actor", own, task.Actor{Name: "coder", Role: task.RoleAgent, TokenID: own.TokenID, RunID: r.ID, Addr: "127.0.0.1"})
		inst.finish(st, completed("all of it"))
		equal(t, "work status", inst.task(tk.ID).WorkStatus, task.Idle)
		equal(t, "summary", inst.run(r.ID).Summary, "all of it")
		_, err := inst.s.Authenticate(inst.ctx(), st.Token, "")
		refused(t, err, task.CodeUnauthorized)
	})
	t.Run("the end is final", func(t *testing.T) {
		refused(t, inst.s.FinishRun(inst.ctx(), r.ID, st.Run.Lease, failure(task.PhaseError)), task.CodeStaleLease)
		_, err := inst.s.CancelRun(inst.ctx(), maya, r.ID, "")
		refused(t, err, task.CodeRunEnded, "has ended: completed")
	})
}

func TestManualRunsAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	claimed := inst.claimedTask(coder)
	missing := inst.create(maya, "reviewer", noStart)
	for name, c := range map[string]struct {
		id   task.ID
		code task.Code
	}{
		"unknown task":  {99999, task.CodeTaskNotFound},
		"draft":         {inst.taskWithStatus(task.Draft).ID, task.CodeTaskNotActive},
		"done":          {inst.taskWithStatus(task.Done).ID, task.CodeArchived},
		"claimed":       {claimed.ID, task.CodeClaimed},
		"pull-only":     {inst.create(maya, "pull", noStart).ID, task.CodePullOnly},
		"invalid owner": {inst.create(maya, "bad", draft).ID, task.CodeInvalidAgent},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inst.s.RunNow(inst.ctx(), maya, c.id)
			refused(t, err, c.code)
		})
	}
	t.Run("an owner without a definition", func(t *testing.T) {
		ok(t, inst.s.agents.Delete("reviewer"))
		_, err := inst.s.RunNow(inst.ctx(), maya, missing.ID)
		refused(t, err, task.CodeUnknownAgent, "reviewer")
	})
}

func TestAQueuedRunThatCannotStartEndsWithTheReason(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	ended := func(t *testing.T, r *task.Run, phase task.Phase, reason string) {
		t.Helper()
		inst.nothingStarts()
		now := inst.run(r.ID)
		equal(t, "state", now.State(), task.State{Status: task.RunCanceled, Phase: phase})
		equal(t, "reason", now.Reason, reason)
	}
	t.Run("when a question is open", func(t *testing.T) {
		r := inst.queueRuns("coder", 1)[0]
		must(inst.s.Ask(inst.ctx(), coder, r.TaskID, "?", false))
		ended(t, r, task.PhaseTaskClosed, "the task waits for an answer")
	})
	t.Run("when the definition becomes pull-only", func(t *testing.T) {
		r := inst.queueRuns("coder", 1)[0]
		inst.define("coder", definition("tools: read", "runner: none"))
		ended(t, r, task.PhaseBy, "Taskyard cannot start agent coder: its definition says `runner: none`")
	})
	t.Run("when the task gets another owner", func(t *testing.T) {
		r := inst.queueRuns("reviewer", 1)[0]
		must(inst.s.UpdateTask(inst.ctx(), maya, r.TaskID, task.Patch{Owner: ptr("pull")}))
		ended(t, r, task.PhaseTaskClosed, "the task moved to pull")
	})
}

func TestCancelingARunStopsIt(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart)
	st := inst.runTask(tk.ID)
	stopped := make(chan error, 1)
	inst.s.RegisterStop(st.Run.ID, func(cause error) { stopped <- cause })
	r := must(inst.s.CancelRun(inst.ctx(), oleg, st.Run.ID, ""))
	equal(t, "state", r.State(), task.State{Status: task.RunCanceled, Phase: task.PhaseBy})
	equal(t, "reason", r.Reason, "canceled by oleg")
	equal(t, "cause", <-stopped, ErrStopCanceled)
	equal(t, "work status", inst.task(tk.ID).WorkStatus, task.Idle)
	refused(t, inst.s.FinishRun(inst.ctx(), r.ID, st.Run.Lease, completed("too late")), task.CodeStaleLease)
	inst.wantNoRun(t, tk.ID)
}
