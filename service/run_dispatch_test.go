package service

import (
	"testing"
	"time"

	"taskyard/task"
)

// queueRuns makes n tasks of an agent with a queued run each.
func (y *instance) queueRuns(agent string, n int) []*task.Run {
	y.t.Helper()
	var out []*task.Run
	for range n {
		tk := y.create(maya, agent, noStart)
		out = append(out, must(y.s.RunNow(y.ctx(), maya, tk.ID)))
	}
	return out
}

func TestHowManyRunsRun(t *testing.T) {
	t.Run("one of an agent at a time unless its definition says more", func(t *testing.T) {
		y := newInstance(t)
		runs := y.queueRuns("coder", 2)
		st := y.start()
		equal(t, "first", st.Run.ID, runs[0].ID)
		y.nothingStarts()
		y.queueRuns("reviewer", 3)
		y.start()
		y.start()
		y.nothingStarts()
		y.finish(st, completed("ok"))
		equal(t, "next of coder", y.start().Run.ID, runs[1].ID)
	})
	t.Run("four in all", func(t *testing.T) {
		y := newInstance(t)
		y.define("coder", definition("tools: read", "max_parallel: 10"))
		runs := y.queueRuns("coder", 6)
		var st *Start
		for i := range 4 {
			st = y.start()
			equal(t, "in order", st.Run.ID, runs[i].ID)
		}
		y.nothingStarts()
		y.finish(st, completed("ok"))
		y.start()
		y.nothingStarts()
	})
	t.Run("as many of ticks as scheduler.concurrency, and others beside them", func(t *testing.T) {
		y := newInstance(t)
		y.create(maya, "coder", noStart)
		y.create(maya, "planner", noStart)
		equal(t, "queued", must(y.s.Tick(y.ctx(), "cron")).Queued, 2)
		st := y.start()
		y.nothingStarts()
		manual := y.queueRuns("reviewer", 1)[0]
		equal(t, "manual", y.start().Run.ID, manual.ID)
		y.finish(st, completed("ok"))
		equal(t, "cause", y.start().Run.Cause, task.CauseTick)
	})
	t.Run("none of a task whose former process is not gone yet", func(t *testing.T) {
		y := newInstance(t)
		r := y.queueRuns("coder", 1)[0]
		st, _, err := y.s.NextRun(y.ctx(), map[task.ID]bool{r.TaskID: true})
		ok(t, err)
		if st != nil {
			t.Fatal("it started")
		}
		y.start()
	})
	t.Run("the dispatcher is told when the next retry may start, whatever else waits", func(t *testing.T) {
		y := newInstance(t)
		y.queueRuns("coder", 2)
		y.start() // the second one of coder waits for its end
		y.queueRuns("planner", 1)
		y.finish(y.start(), failure(task.PhaseError))
		st, later, err := y.s.NextRun(y.ctx(), nil)
		ok(t, err)
		if st != nil {
			t.Fatalf("run %d started", st.Run.ID)
		}
		equal(t, "later", later, y.s.Now().Add(30*time.Second))
	})
}

func TestStartOfARun(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder", noStart)
	r := must(y.s.RunNow(y.ctx(), maya, tk.ID))
	st := y.start()
	t.Run("claims its task", func(t *testing.T) {
		now := y.task(tk.ID)
		equal(t, "work status", now.WorkStatus, task.Working)
		equal(t, "holder", now.Claim.Holder, "coder")
		equal(t, "claim", now.Claim.ID, st.Run.ClaimID)
	})
	t.Run("keeps the prompts in its transcript and the definition's text", func(t *testing.T) {
		lines := must(y.s.Transcript(y.ctx(), vera, r.ID, 0, 10))
		equal(t, "lines", len(lines), 2)
		equal(t, "system prompt", lines[0].Content, st.Spec.SystemPrompt)
		equal(t, "prompt", lines[1].Content, st.Spec.Prompt)
		equal(t, "definition", st.Run.DefinitionHash, st.Agent.Hash)
	})
	t.Run("a heartbeat renews run and claim", func(t *testing.T) {
		y.Forward(50 * time.Second)
		ok(t, y.s.RunHeartbeat(y.ctx(), r.ID, st.Run.Lease))
		y.Forward(50 * time.Second)
		equal(t, "lost", len(must(y.s.LeaseLost(y.ctx()))), 0)
		equal(t, "claim", y.task(tk.ID).Claim.ExpiresAt, y.s.Now().Add(2*time.Hour-50*time.Second))
	})
	t.Run("a second run is refused meanwhile", func(t *testing.T) {
		_, err := y.s.RunNow(y.ctx(), maya, tk.ID)
		refused(t, err, task.CodeRunOpen, "in flight")
	})
	t.Run("its end frees the claim and kills its token", func(t *testing.T) {
		own := y.actor(st)
		equal(t, "actor", own, task.Actor{Name: "coder", Role: task.RoleAgent, TokenID: own.TokenID, RunID: r.ID, Addr: "127.0.0.1"})
		y.finish(st, completed("all of it"))
		equal(t, "work status", y.task(tk.ID).WorkStatus, task.Idle)
		equal(t, "summary", y.run(r.ID).Summary, "all of it")
		_, err := y.s.Authenticate(y.ctx(), st.Token, "")
		refused(t, err, task.CodeUnauthorized)
	})
	t.Run("the end is final", func(t *testing.T) {
		refused(t, y.s.FinishRun(y.ctx(), r.ID, st.Run.Lease, failure(task.PhaseError)), task.CodeStaleLease)
		_, err := y.s.CancelRun(y.ctx(), maya, r.ID, "")
		refused(t, err, task.CodeRunEnded, "has ended: completed")
	})
}

func TestManualRunsAreRefusedWithTheReason(t *testing.T) {
	y := newInstance(t)
	claimed := y.working(coder)
	missing := y.create(maya, "reviewer", noStart)
	for name, c := range map[string]struct {
		id   task.ID
		code task.Code
	}{
		"unknown task":  {99999, task.CodeTaskNotFound},
		"draft":         {y.in(task.Draft).ID, task.CodeTaskNotActive},
		"done":          {y.in(task.Done).ID, task.CodeArchived},
		"claimed":       {claimed.ID, task.CodeClaimed},
		"pull-only":     {y.create(maya, "pull", noStart).ID, task.CodePullOnly},
		"invalid owner": {y.create(maya, "bad", draft).ID, task.CodeInvalidAgent},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := y.s.RunNow(y.ctx(), maya, c.id)
			refused(t, err, c.code)
		})
	}
	t.Run("an owner that is defined no more", func(t *testing.T) {
		ok(t, y.s.agents.Delete("reviewer"))
		_, err := y.s.RunNow(y.ctx(), maya, missing.ID)
		refused(t, err, task.CodeUnknownAgent, "reviewer")
	})
}

func TestAQueuedRunThatCannotStartEndsWithTheReason(t *testing.T) {
	y := newInstance(t)
	ended := func(t *testing.T, r *task.Run, phase task.Phase, reason string) {
		t.Helper()
		y.nothingStarts()
		now := y.run(r.ID)
		equal(t, "state", now.State(), task.State{Status: task.RunCanceled, Phase: phase})
		equal(t, "reason", now.Reason, reason)
	}
	t.Run("when a question is open", func(t *testing.T) {
		r := y.queueRuns("coder", 1)[0]
		must(y.s.Ask(y.ctx(), coder, r.TaskID, "?", false))
		ended(t, r, task.PhaseTaskClosed, "the task waits for an answer")
	})
	t.Run("when the definition became pull-only", func(t *testing.T) {
		r := y.queueRuns("coder", 1)[0]
		y.define("coder", definition("tools: read", "runner: none"))
		ended(t, r, task.PhaseBy, "Taskyard cannot start agent coder: its definition says `runner: none`")
	})
	t.Run("when the task went to another owner", func(t *testing.T) {
		r := y.queueRuns("reviewer", 1)[0]
		must(y.s.UpdateTask(y.ctx(), maya, r.TaskID, task.Patch{Owner: ptr("pull")}))
		ended(t, r, task.PhaseTaskClosed, "the task moved to pull")
	})
}

func TestCancelingARunStopsIt(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder", noStart)
	must(y.s.RunNow(y.ctx(), maya, tk.ID))
	st := y.start()
	stopped := make(chan error, 1)
	y.s.RegisterStop(st.Run.ID, func(cause error) { stopped <- cause })
	r := must(y.s.CancelRun(y.ctx(), oleg, st.Run.ID, ""))
	equal(t, "state", r.State(), task.State{Status: task.RunCanceled, Phase: task.PhaseBy})
	equal(t, "reason", r.Reason, "canceled by user:oleg")
	equal(t, "cause", <-stopped, ErrStopCanceled)
	equal(t, "work status", y.task(tk.ID).WorkStatus, task.Idle)
	refused(t, y.s.FinishRun(y.ctx(), r.ID, st.Run.Lease, completed("too late")), task.CodeStaleLease)
	y.asleep(t, tk.ID)
}
