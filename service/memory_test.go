package service

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

func TestARunKnowsHowEarlierRunsEnded(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes)
	tk := inst.create(maya, "coder", steps("a", "b"))
	inst.finish(inst.start(), failure(task.PhaseTimeout))
	inst.Forward(time.Hour)
	second := inst.start()
	t.Run("a failure, recorded by Taskyard", func(t *testing.T) {
		author, text := promptPart(t, second.Spec, `run 1 of agent coder, failed \(timeout\)`)
		equal(t, "author", author, "Taskyard, which may quote agents and programs")
		equal(t, "text", text, "it broke")
	})
	inst.finish(second, completed("Half of it is done."))
	must(inst.s.Comment(inst.ctx(), maya, tk.ID, "Now the rest."))
	third := inst.start()
	t.Run("a result by its agent, and the cause of this run", func(t *testing.T) {
		author, text := promptPart(t, third.Spec, `run 2 of agent coder, completed`)
		equal(t, "author", author, "agent coder")
		equal(t, "text", text, "Half of it is done.")
		equal(t, "why", third.Run.StartReason, "comment by user:maya")
		if !strings.Contains(third.Spec.Prompt, "\nreason for this run: comment by user:maya\n</Task>") {
			t.Errorf("got prompt %s", third.Spec.Prompt)
		}
	})
	t.Run("events during a run start the next one, each once", func(t *testing.T) {
		for range 2 {
			must(inst.s.Comment(inst.ctx(), maya, tk.ID, "And this."))
		}
		must(inst.s.Comment(inst.ctx(), oleg, tk.ID, "And that."))
		inst.finish(third, completed("More is done."))
		next := inst.start()
		equal(t, "cause", next.Run.Cause, task.CauseFollowUp)
		equal(t, "why", next.Run.StartReason, "comment by user:maya\ncomment by user:oleg")
		inst.finish(next, completed("All is done."))
	})
	t.Run("a claim returns the same", func(t *testing.T) {
		now := inst.signup(coder)
		equal(t, "runs", len(now.Runs), 4)
		equal(t, "first", now.Runs[0].Reason, "it broke")
		equal(t, "last", now.Runs[3].Summary, "All is done.")
	})
}

func TestAParentKnowsTheOutcomeOfItsSubtasks(t *testing.T) {
	t.Parallel()
	inst := delegating(t, wakes, func(c *Config) { c.Policy = task.ApproveDelegated })
	tk, parent, own := inst.inRun("boss")
	good := inst.delegate(own, task.Delegation{Task: "Read auth.go"})
	bad := inst.delegate(own, task.Delegation{Task: "Rewrite auth.go"})
	must(inst.s.ApproveRun(inst.ctx(), rita, good.RunID, Approve{Scope: task.ScopeOnce}))
	inst.finish(parent, completed("I continue when both have ended."))
	inst.finish(inst.start(), completed("It checks tokens twice."))
	t.Run("it is not woken while another subtask is open", func(t *testing.T) {
		equal(t, "run", inst.openRun(tk.ID), nil)
	})
	must(inst.s.DenyRun(inst.ctx(), rita, bad.RunID, "Only read it.", 0))
	st := inst.start()
	equal(t, "task", st.Run.TaskID, tk.ID)
	inst.nothingStarts()
	t.Run("the completed subtask, with its result", func(t *testing.T) {
		author, text := promptPart(t, st.Spec, `subtask `+good.TaskID.String()+` of agent hand, done`)
		equal(t, "author", author, "those who work on task "+good.TaskID.String())
		equal(t, "text", text, "Read auth.go\nIt checks tokens twice.")
	})
	t.Run("the denied subtask, with the person's reason", func(t *testing.T) {
		author, text := promptPart(t, st.Spec, `subtask `+bad.TaskID.String()+`: run \d+ of agent hand, canceled \(denied\)`)
		equal(t, "author", author, "person rita")
		equal(t, "text", text, "Only read it.")
	})
	t.Run("the task in the API", func(t *testing.T) {
		now := inst.task(tk.ID)
		equal(t, "subtasks", len(now.Subtasks), 2)
		equal(t, "summary", now.Subtasks[0].Summary, "It checks tokens twice.")
		equal(t, "denied by", now.Subtasks[1].LastRun.By, "user:rita")
		equal(t, "reason", now.Subtasks[1].LastRun.Reason, "Only read it.")
	})
}

func TestAnIdenticalOpenRequestIsJoined(t *testing.T) {
	t.Parallel()
	inst := delegating(t)
	tk, st, own := inst.inRun("boss", steps("a"))
	ask := task.Delegation{Task: "Read auth.go", StepIndex: ptr(0)}
	first := inst.delegate(own, ask)
	equal(t, "joined", first.Joined, false)
	again := inst.delegate(own, ask)
	equal(t, "joined", again.Joined, true)
	equal(t, "run", again.RunID, first.RunID)
	equal(t, "another request", inst.delegate(own, task.Delegation{Task: "Read main.go"}).Joined, false)
	t.Run("by a later run of the task too", func(t *testing.T) {
		inst.finish(st, completed("I wait."))
		must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
		next := inst.start()
		for next.Run.TaskID != tk.ID {
			next = inst.start()
		}
		equal(t, "run", inst.delegate(inst.actor(next), ask).RunID, first.RunID)
	})
	t.Run("until the request has ended", func(t *testing.T) {
		must(inst.s.CompleteTask(inst.ctx(), maya, first.TaskID, "done", 0))
		last := inst.delegate(maya, task.Delegation{ParentTask: tk.ID, Task: ask.Task})
		equal(t, "joined", last.Joined, false)
		equal(t, "joined by a person", inst.delegate(maya, task.Delegation{ParentTask: tk.ID, Task: ask.Task}).Joined, true)
	})
}

func TestHistoryInPromptsIsBounded(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", steps("a"))
	for i := range 30 {
		must(inst.s.Comment(inst.ctx(), maya, tk.ID, strings.Repeat("x", 900)+" comment "+task.ID(i).String()))
	}
	for range 8 {
		inst.finish(inst.runTask(tk.ID), completed(strings.Repeat("s", 3000)))
	}
	for range 30 {
		d := must(inst.s.Delegate(inst.ctx(), maya, task.Delegation{
			ParentTask: tk.ID, AgentType: "reviewer", Task: "Part " + inst.lastEvent().String(),
		}))
		must(inst.s.CompleteTask(inst.ctx(), maya, d.TaskID, strings.Repeat("r", 3000), 0))
	}
	now, prompt := inst.task(tk.ID), inst.specNow(tk.ID).Prompt
	equal(t, "runs", len(now.Runs), task.MaxPastRuns)
	equal(t, "subtasks", len(now.Subtasks), task.MaxSubtasks)
	equal(t, "cut", strings.Join(now.Cut, " "), "runs subtasks")
	t.Run("the newest are complete up to 1,000 bytes", func(t *testing.T) {
		equal(t, "summary", len(now.Subtasks[task.MaxSubtasks-1].Summary), 1000)
		equal(t, "summary", len(now.Runs[task.MaxPastRuns-1].Summary), 1000)
		equal(t, "of an old one", now.Subtasks[0].Summary, "")
	})
	t.Run("the prompt says where the rest is", func(t *testing.T) {
		for _, s := range []string{
			"subtasks (the newest; read each with get_task):", "/api/tasks/1/runs has all",
			"28 earlier ones are left out: get_task with comments_after 0", " comment 29\n",
		} {
			if !strings.Contains(prompt, s) {
				t.Errorf("%q is missing in\n%s", s, prompt)
			}
		}
	})
	// The texts have 6,000 bytes; each of 27 parts adds two lines.
	if n := len(prompt); n > 6000+27*140+2500 {
		t.Errorf("got a prompt of %d bytes", n)
	}
}

func TestCommentsOfAgentsDoNotDisplaceAnAnswer(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder")
	inst.signup(coder)
	must(inst.s.Comment(inst.ctx(), maya, tk.ID, "Use British spelling."))
	must(inst.s.Ask(inst.ctx(), coder, tk.ID, "Blue or green?", false))
	must(inst.s.Reply(inst.ctx(), maya, tk.ID, "Green, "+strings.Repeat("dark ", 190)+"please."))
	inst.signup(coder)
	must(inst.s.MoveTask(inst.ctx(), coder, Move{
		TaskID: tk.ID, CurrentAgent: "coder", NewAgent: "reviewer", Comment: "Only the door is left.",
	}))
	for i := range 12 {
		must(inst.s.Comment(inst.ctx(), pull, tk.ID, strings.Repeat("noise ", 700)+strconv.Itoa(i)))
	}
	prompt := inst.specNow(tk.ID).Prompt
	at := -1
	for _, want := range []string{
		"10 earlier ones are left out", "Use British spelling.", "Blue or green?", "dark please.", "Only the door is left.", "noise ",
	} {
		next := strings.Index(prompt, want)
		if next <= at {
			t.Errorf("%q is not at its position in\n%s", want, prompt)
		}
		at = next
	}
}

func TestALongMessageIsCutInThePrompt(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder")
	m := must(inst.s.Comment(inst.ctx(), maya, tk.ID, strings.Repeat("long ", 3000)))
	_, text := promptPart(t, inst.specNow(tk.ID), "comment "+m.ID.String()+", cut: get_task with comments_after 0 reads all of it")
	equal(t, "bytes", len(text), newestMessage)
}

func TestAnAnswerPutsTheTaskFirstInItsQueue(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	urgent := func(n *task.New) { n.Priority = 9 }
	asked := inst.create(maya, "coder")
	inst.signup(coder)
	inst.create(maya, "coder", urgent)
	must(inst.s.Ask(inst.ctx(), coder, asked.ID, "Blue or green?", false))
	equal(t, "the claim", inst.task(asked.ID).Claim, nil)
	must(inst.s.Reply(inst.ctx(), maya, asked.ID, "Green."))
	got := inst.signup(coder)
	equal(t, "task", got.ID, asked.ID)
	equal(t, "answer", got.Comments[1].Content, "Green.")
	t.Run("once: released again, it has its usual place", func(t *testing.T) {
		must(inst.s.ReleaseClaim(inst.ctx(), coder, asked.ID, 0))
		equal(t, "priority", inst.signup(coder).Priority, 9)
	})
	t.Run("an explicitly kept claim stays", func(t *testing.T) {
		kept := inst.signup(coder)
		must(inst.s.Ask(inst.ctx(), coder, kept.ID, "Sure?", true))
		equal(t, "claim", inst.task(kept.ID).Claim.ID, kept.Claim.ID)
	})
	t.Run("another agent's question does not end the holder's claim", func(t *testing.T) {
		tk := inst.create(maya, "reviewer")
		inst.signup(reviewer)
		must(inst.s.Ask(inst.ctx(), maya, tk.ID, "Why so long?", false))
		equal(t, "holder", inst.task(tk.ID).Claim.Holder, "reviewer")
	})
	t.Run("a run's own question does not end the run's claim", func(t *testing.T) {
		tk, st, own := inst.inRun("planner")
		must(inst.s.Ask(inst.ctx(), own, tk.ID, "Which?", false))
		equal(t, "claim", inst.task(tk.ID).Claim.ID, st.Run.ClaimID)
	})
}

func TestTheEndOfASubtaskPutsTheParentFirstInItsQueue(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	parent := inst.create(maya, "coder", steps("a"))
	inst.signup(coder)
	sub := inst.subtask(coder, parent.ID, 0, "reviewer")
	must(inst.s.ReleaseClaim(inst.ctx(), coder, parent.ID, 0))
	inst.create(maya, "coder", func(n *task.New) { n.Priority = 9 })
	must(inst.s.CompleteTask(inst.ctx(), reviewer, sub.ID, "It leaks.", 0))
	got := inst.signup(coder)
	equal(t, "task", got.ID, parent.ID)
	equal(t, "result", got.Subtasks[0].Summary, "It leaks.")
}

func TestReadingATaskRenewsItsHoldersClaim(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder")
	first := inst.signup(coder).Claim.ExpiresAt
	inst.Forward(time.Hour)
	must(inst.s.Task(inst.ctx(), reviewer, tk.ID))
	must(inst.s.Task(inst.ctx(), maya, tk.ID))
	equal(t, "read by others", inst.task(tk.ID).Claim.ExpiresAt, first)
	got := must(inst.s.Task(inst.ctx(), coder, tk.ID))
	equal(t, "returned", got.Claim.ExpiresAt, first.Add(time.Hour))
	equal(t, "stored", inst.task(tk.ID).Claim.ExpiresAt, first.Add(time.Hour))
	equal(t, "version", inst.task(tk.ID).Version, tk.Version+1)
	inst.Forward(30 * time.Second)
	must(inst.s.Thread(inst.ctx(), coder, tk.ID, 0, 10))
	equal(t, "again within a minute", inst.task(tk.ID).Claim.ExpiresAt, first.Add(time.Hour))
	inst.Forward(time.Minute)
	must(inst.s.Thread(inst.ctx(), coder, tk.ID, 0, 10))
	equal(t, "and later", inst.task(tk.ID).Claim.ExpiresAt, first.Add(time.Hour+90*time.Second))
}

func TestTheClaimsOfAnAgent(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	a, b := inst.create(maya, "pull"), inst.create(maya, "pull")
	inst.signup(pull)
	inst.signup(pull)
	held := must(inst.s.Held(inst.ctx(), pull, "pull"))
	equal(t, "held", task.JoinIDs(held, " "), task.JoinIDs([]task.ID{a.ID, b.ID}, " "))
	_, err := inst.s.Signup(inst.ctx(), pull, "pull", 1)
	refused(t, err, task.CodeMaxClaims, "on the tasks "+task.JoinIDs(held, ", "))
	_, err = inst.s.Held(inst.ctx(), coder, "pull")
	refused(t, err, task.CodeNotYourName)
}

func TestTheThreadContainsRunsInOrder(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes)
	tk := inst.create(maya, "coder")
	first := inst.start()
	must(inst.s.Comment(inst.ctx(), coder, tk.ID, "During the first run."))
	inst.finish(first, failure(task.PhaseTimeout))
	must(inst.s.Comment(inst.ctx(), coder, tk.ID, "Between the runs."))
	inst.Forward(time.Hour)
	inst.finish(inst.start(), completed("Half of it is done."))
	must(inst.s.RunNow(inst.ctx(), maya, tk.ID))
	must(inst.s.CancelRun(inst.ctx(), maya, 3, "never started"))
	want := []string{"During the first run.", "run 1 error: it broke", "Between the runs.", "run 2 result: Half of it is done."}
	text := func(m task.Message) string {
		if m.Kind == task.KindRun {
			return "run " + m.RunID.String() + " " + m.Type + ": " + m.Content
		}
		return m.Content
	}
	t.Run("complete", func(t *testing.T) {
		var got []string
		for _, m := range must(inst.s.Thread(inst.ctx(), vera, tk.ID, 0, 10)) {
			got = append(got, text(m))
		}
		equal(t, "thread", strings.Join(got, "\n"), strings.Join(want, "\n"))
	})
	t.Run("in pages", func(t *testing.T) {
		after, got := task.ID(0), []string{}
		for range want {
			page := must(inst.s.Thread(inst.ctx(), vera, tk.ID, after, 1))
			equal(t, "page", len(page), 1)
			after, got = page[0].ID, append(got, text(page[0]))
		}
		equal(t, "thread", strings.Join(got, "\n"), strings.Join(want, "\n"))
	})
	t.Run("with their outcomes", func(t *testing.T) {
		m := must(inst.s.Thread(inst.ctx(), vera, tk.ID, 0, 10))[1]
		equal(t, "author", m.Author, "coder")
		equal(t, "data", string(m.Data), `{"status":"failed","phase":"timeout"}`)
		equal(t, "time", m.CreatedAt, inst.run(1).EndedAt)
	})
	t.Run("comments are a subset of it", func(t *testing.T) {
		equal(t, "comments", len(must(inst.s.Comments(inst.ctx(), vera, tk.ID, 0, 10))), 2)
	})
}
