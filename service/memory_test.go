package service

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

func TestARunKnowsHowEarlierRunsEnded(t *testing.T) {
	y := newInstance(t, wakes)
	tk := y.create(maya, "coder", steps("a", "b"))
	y.finish(y.start(), failure(task.PhaseTimeout))
	y.Forward(time.Hour)
	second := y.start()
	t.Run("a failure, by Taskyard", func(t *testing.T) {
		author, text := promptPart(t, second.Spec, `run 1 of agent coder, failed \(timeout\)`)
		equal(t, "author", author, "Taskyard, which may quote agents and programs")
		equal(t, "text", text, "it broke")
	})
	y.finish(second, completed("Half of it is done."))
	must(y.s.Comment(y.ctx(), maya, tk.ID, "Now the rest."))
	third := y.start()
	t.Run("a result, by its agent, and what this run was started by", func(t *testing.T) {
		author, text := promptPart(t, third.Spec, `run 2 of agent coder, completed`)
		equal(t, "author", author, "agent coder")
		equal(t, "text", text, "Half of it is done.")
		equal(t, "why", third.Run.Why, "comment by user:maya")
		if !strings.Contains(third.Spec.Prompt, "\nreason for this run: comment by user:maya\n</Task>") {
			t.Errorf("the prompt is %s", third.Spec.Prompt)
		}
	})
	t.Run("news that came while a run was open start the next one, each once", func(t *testing.T) {
		for range 2 {
			must(y.s.Comment(y.ctx(), maya, tk.ID, "And this."))
		}
		must(y.s.Comment(y.ctx(), oleg, tk.ID, "And that."))
		y.finish(third, completed("More is done."))
		next := y.start()
		equal(t, "cause", next.Run.Cause, task.CauseFollowUp)
		equal(t, "why", next.Run.Why, "comment by user:maya\ncomment by user:oleg")
		y.finish(next, completed("All is done."))
	})
	t.Run("a claim returns the same", func(t *testing.T) {
		now := y.signup(coder)
		equal(t, "runs", len(now.Runs), 4)
		equal(t, "first", now.Runs[0].Reason, "it broke")
		equal(t, "last", now.Runs[3].Summary, "All is done.")
	})
}

func TestAParentKnowsWhatBecameOfItsSubtasks(t *testing.T) {
	y := delegating(t, wakes, func(c *Config) { c.Policy = task.ApproveDelegated })
	tk, parent, own := y.inRun("boss")
	good := y.delegate(own, task.Delegation{Task: "Read auth.go"})
	bad := y.delegate(own, task.Delegation{Task: "Rewrite auth.go"})
	must(y.s.ApproveRun(y.ctx(), rita, good.RunID, Approve{Scope: task.ScopeOnce}))
	y.finish(parent, completed("I continue when both have ended."))
	y.finish(y.start(), completed("It checks tokens twice."))
	t.Run("it is not woken while another of its subtasks is open", func(t *testing.T) {
		equal(t, "run", y.openRun(tk.ID), nil)
	})
	must(y.s.DenyRun(y.ctx(), rita, bad.RunID, "Only read it.", 0))
	st := y.start()
	equal(t, "task", st.Run.TaskID, tk.ID)
	y.nothingStarts()
	t.Run("the one that was done, with its result", func(t *testing.T) {
		author, text := promptPart(t, st.Spec, `subtask `+good.TaskID.String()+` of agent hand, done`)
		equal(t, "author", author, "those who work on task "+good.TaskID.String())
		equal(t, "text", text, "Read auth.go\nIt checks tokens twice.")
	})
	t.Run("the one that was denied, with the reason of the person", func(t *testing.T) {
		author, text := promptPart(t, st.Spec, `subtask `+bad.TaskID.String()+`: run \d+ of agent hand, canceled \(denied\)`)
		equal(t, "author", author, "person rita")
		equal(t, "text", text, "Only read it.")
	})
	t.Run("its task, as JSON has it", func(t *testing.T) {
		now := y.task(tk.ID)
		equal(t, "subtasks", len(now.Subtasks), 2)
		equal(t, "summary", now.Subtasks[0].Summary, "It checks tokens twice.")
		equal(t, "denied by", now.Subtasks[1].LastRun.By, "user:rita")
		equal(t, "reason", now.Subtasks[1].LastRun.Reason, "Only read it.")
	})
}

func TestAnIdenticalOpenRequestIsJoined(t *testing.T) {
	y := delegating(t)
	tk, st, own := y.inRun("boss", steps("a"))
	ask := task.Delegation{Task: "Read auth.go", StepIndex: ptr(0)}
	first := y.delegate(own, ask)
	equal(t, "joined", first.Joined, false)
	again := y.delegate(own, ask)
	equal(t, "joined", again.Joined, true)
	equal(t, "run", again.RunID, first.RunID)
	equal(t, "another request", y.delegate(own, task.Delegation{Task: "Read main.go"}).Joined, false)
	t.Run("by a later run of the task, too", func(t *testing.T) {
		y.finish(st, completed("I wait."))
		must(y.s.RunNow(y.ctx(), maya, tk.ID))
		next := y.start()
		for next.Run.TaskID != tk.ID {
			next = y.start()
		}
		equal(t, "run", y.delegate(y.actor(next), ask).RunID, first.RunID)
	})
	t.Run("until it has ended", func(t *testing.T) {
		must(y.s.CompleteTask(y.ctx(), maya, first.TaskID, "done", 0))
		last := y.delegate(maya, task.Delegation{ParentTask: tk.ID, Task: ask.Task})
		equal(t, "joined", last.Joined, false)
		equal(t, "joined by a person", y.delegate(maya, task.Delegation{ParentTask: tk.ID, Task: ask.Task}).Joined, true)
	})
}

func TestHistoryInPromptsIsBounded(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder", steps("a"))
	for i := range 30 {
		must(y.s.Comment(y.ctx(), maya, tk.ID, strings.Repeat("x", 900)+" comment "+task.ID(i).String()))
	}
	for range 8 {
		must(y.s.RunNow(y.ctx(), maya, tk.ID))
		y.finish(y.start(), completed(strings.Repeat("s", 3000)))
	}
	for range 30 {
		d := must(y.s.Delegate(y.ctx(), maya, task.Delegation{
			ParentTask: tk.ID, AgentType: "reviewer", Task: "Part " + y.lastEvent().String(),
		}))
		must(y.s.CompleteTask(y.ctx(), maya, d.TaskID, strings.Repeat("r", 3000), 0))
	}
	now, prompt := y.task(tk.ID), y.specNow(tk.ID).Prompt
	equal(t, "runs", len(now.Runs), task.MaxPastRuns)
	equal(t, "subtasks", len(now.Subtasks), task.MaxSubtasks)
	equal(t, "cut", strings.Join(now.Cut, " "), "runs subtasks")
	t.Run("the newest are whole to 1,000 bytes", func(t *testing.T) {
		equal(t, "summary", len(now.Subtasks[task.MaxSubtasks-1].Summary), 1000)
		equal(t, "summary", len(now.Runs[task.MaxPastRuns-1].Summary), 1000)
		equal(t, "of an old one", now.Subtasks[0].Summary, "")
	})
	t.Run("it says where the rest is", func(t *testing.T) {
		for _, s := range []string{
			"subtasks (the newest; get_task reads each of them whole):", "/api/tasks/1/runs has all",
			"28 earlier ones are left out: get_task with comments_after 0", " comment 29\n",
		} {
			if !strings.Contains(prompt, s) {
				t.Errorf("%q is not in\n%s", s, prompt)
			}
		}
	})
	// The texts have 6,000 bytes; each of 27 parts costs two lines beside.
	if n := len(prompt); n > 6000+27*140+2500 {
		t.Errorf("the prompt has %d bytes", n)
	}
}

func TestCommentsOfAgentsDoNotDisplaceAnAnswer(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder")
	y.signup(coder)
	must(y.s.Comment(y.ctx(), maya, tk.ID, "Use British spelling."))
	must(y.s.Ask(y.ctx(), coder, tk.ID, "Blue or green?", false))
	must(y.s.Reply(y.ctx(), maya, tk.ID, "Green, "+strings.Repeat("dark ", 190)+"please."))
	y.signup(coder)
	must(y.s.MoveTask(y.ctx(), coder, Move{TaskID: tk.ID, CurrentAgent: "coder", NewAgent: "reviewer", Comment: "Only the door is left."}))
	for i := range 12 {
		must(y.s.Comment(y.ctx(), pull, tk.ID, strings.Repeat("noise ", 700)+strconv.Itoa(i)))
	}
	prompt := y.specNow(tk.ID).Prompt
	at := -1
	for _, want := range []string{
		"10 earlier ones are left out", "Use British spelling.", "Blue or green?", "dark please.", "Only the door is left.", "noise ",
	} {
		next := strings.Index(prompt, want)
		if next <= at {
			t.Errorf("%q is not in its place in\n%s", want, prompt)
		}
		at = next
	}
}

func TestALongMessageIsCutInThePromptAndNamed(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder")
	m := must(y.s.Comment(y.ctx(), maya, tk.ID, strings.Repeat("long ", 3000)))
	_, text := promptPart(t, y.specNow(tk.ID), "comment "+m.ID.String()+", cut: get_task with comments_after 0 reads it whole")
	equal(t, "bytes", len(text), newestMessage)
}

func TestAnAnswerBringsTheTaskBackFirst(t *testing.T) {
	y := newInstance(t)
	urgent := func(n *task.New) { n.Priority = 9 }
	asked := y.create(maya, "coder")
	y.signup(coder)
	y.create(maya, "coder", urgent)
	must(y.s.Ask(y.ctx(), coder, asked.ID, "Blue or green?", false))
	equal(t, "the claim", y.task(asked.ID).Claim, nil)
	must(y.s.Reply(y.ctx(), maya, asked.ID, "Green."))
	got := y.signup(coder)
	equal(t, "task", got.ID, asked.ID)
	equal(t, "answer", got.Comments[1].Content, "Green.")
	t.Run("once: released again, it is in its place", func(t *testing.T) {
		must(y.s.ReleaseClaim(y.ctx(), coder, asked.ID, 0))
		equal(t, "priority", y.signup(coder).Priority, 9)
	})
	t.Run("a claim that is kept stays", func(t *testing.T) {
		kept := y.signup(coder)
		must(y.s.Ask(y.ctx(), coder, kept.ID, "Sure?", true))
		equal(t, "claim", y.task(kept.ID).Claim.ID, kept.Claim.ID)
	})
	t.Run("another's question does not end the claim of the holder", func(t *testing.T) {
		tk := y.create(maya, "reviewer")
		y.signup(reviewer)
		must(y.s.Ask(y.ctx(), maya, tk.ID, "Why so long?", false))
		equal(t, "holder", y.task(tk.ID).Claim.Holder, "reviewer")
	})
	t.Run("nor does a run's own end that of the run", func(t *testing.T) {
		tk, st, own := y.inRun("planner")
		must(y.s.Ask(y.ctx(), own, tk.ID, "Which?", false))
		equal(t, "claim", y.task(tk.ID).Claim.ID, st.Run.ClaimID)
	})
}

func TestTheEndOfASubtaskBringsTheParentBackFirst(t *testing.T) {
	y := newInstance(t)
	parent := y.create(maya, "coder", steps("a"))
	y.signup(coder)
	sub := y.subtask(coder, parent.ID, 0, "reviewer")
	must(y.s.ReleaseClaim(y.ctx(), coder, parent.ID, 0))
	y.create(maya, "coder", func(n *task.New) { n.Priority = 9 })
	must(y.s.CompleteTask(y.ctx(), reviewer, sub.ID, "It leaks.", 0))
	got := y.signup(coder)
	equal(t, "task", got.ID, parent.ID)
	equal(t, "result", got.Subtasks[0].Summary, "It leaks.")
}

func TestReadingRenewsTheClaimOfTheHolder(t *testing.T) {
	y := newInstance(t)
	tk := y.create(maya, "coder")
	first := y.signup(coder).Claim.ExpiresAt
	y.Forward(time.Hour)
	must(y.s.Task(y.ctx(), reviewer, tk.ID))
	must(y.s.Task(y.ctx(), maya, tk.ID))
	equal(t, "read by others", y.task(tk.ID).Claim.ExpiresAt, first)
	got := must(y.s.Task(y.ctx(), coder, tk.ID))
	equal(t, "returned", got.Claim.ExpiresAt, first.Add(time.Hour))
	equal(t, "stored", y.task(tk.ID).Claim.ExpiresAt, first.Add(time.Hour))
	equal(t, "version", y.task(tk.ID).Version, tk.Version+1)
	y.Forward(30 * time.Second)
	must(y.s.Thread(y.ctx(), coder, tk.ID, 0, 10))
	equal(t, "again within a minute", y.task(tk.ID).Claim.ExpiresAt, first.Add(time.Hour))
	y.Forward(time.Minute)
	must(y.s.Thread(y.ctx(), coder, tk.ID, 0, 10))
	equal(t, "and later", y.task(tk.ID).Claim.ExpiresAt, first.Add(time.Hour+90*time.Second))
}

func TestWhatAnAgentHolds(t *testing.T) {
	y := newInstance(t)
	a, b := y.create(maya, "pull"), y.create(maya, "pull")
	y.signup(pull)
	y.signup(pull)
	held := must(y.s.Held(y.ctx(), pull, "pull"))
	equal(t, "held", task.JoinIDs(held, " "), task.JoinIDs([]task.ID{a.ID, b.ID}, " "))
	_, err := y.s.Signup(y.ctx(), pull, "pull", 1)
	refused(t, err, task.CodeMaxClaims, "of the tasks "+task.JoinIDs(held, ", "))
	_, err = y.s.Held(y.ctx(), coder, "pull")
	refused(t, err, task.CodeNotYourName)
}

func TestTheThreadHasTheRunsInTheirPlace(t *testing.T) {
	y := newInstance(t, wakes)
	tk := y.create(maya, "coder")
	first := y.start()
	must(y.s.Comment(y.ctx(), coder, tk.ID, "During the first run."))
	y.finish(first, failure(task.PhaseTimeout))
	must(y.s.Comment(y.ctx(), coder, tk.ID, "Between the runs."))
	y.Forward(time.Hour)
	y.finish(y.start(), completed("Half of it is done."))
	must(y.s.RunNow(y.ctx(), maya, tk.ID))
	must(y.s.CancelRun(y.ctx(), maya, 3, "never started"))
	want := []string{"During the first run.", "run 1 error: it broke", "Between the runs.", "run 2 result: Half of it is done."}
	text := func(m task.Message) string {
		if m.Kind == task.KindRun {
			return "run " + m.RunID.String() + " " + m.Type + ": " + m.Content
		}
		return m.Content
	}
	t.Run("whole", func(t *testing.T) {
		var got []string
		for _, m := range must(y.s.Thread(y.ctx(), vera, tk.ID, 0, 10)) {
			got = append(got, text(m))
		}
		equal(t, "thread", strings.Join(got, "\n"), strings.Join(want, "\n"))
	})
	t.Run("in pages", func(t *testing.T) {
		after, got := task.ID(0), []string{}
		for range want {
			page := must(y.s.Thread(y.ctx(), vera, tk.ID, after, 1))
			equal(t, "page", len(page), 1)
			after, got = page[0].ID, append(got, text(page[0]))
		}
		equal(t, "thread", strings.Join(got, "\n"), strings.Join(want, "\n"))
	})
	t.Run("with how they ended", func(t *testing.T) {
		m := must(y.s.Thread(y.ctx(), vera, tk.ID, 0, 10))[1]
		equal(t, "author", m.Author, "coder")
		equal(t, "data", string(m.Data), `{"status":"failed","phase":"timeout"}`)
		equal(t, "time", m.CreatedAt, y.run(1).EndedAt)
	})
	t.Run("comments are a view of it", func(t *testing.T) {
		equal(t, "comments", len(must(y.s.Comments(y.ctx(), vera, tk.ID, 0, 10))), 2)
	})
}
