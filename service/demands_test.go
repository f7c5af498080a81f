package service

import (
	"context"
	"strings"
	"testing"

	"taskyard/internal/exchange"
	"taskyard/task"
)

// judgeGit is a repository in which checks have the configured verdicts.
type judgeGit struct {
	Repositories
	verdicts map[string]task.Verdict // by name; passed if missing
	head     string
}

func (g *judgeGit) Examine(context.Context, *task.Project) []task.Finding { return nil }

func (g *judgeGit) Snapshot(context.Context, task.Worktree, string) (*task.Revision, error) {
	return &task.Revision{Base: "base", Head: g.head, Patch: "patch", Total: 1}, nil
}

func (g *judgeGit) Check(_ context.Context, _ task.Worktree, at *task.Revision, c task.Check) task.CheckRun {
	run := task.CheckRun{Verdict: task.CheckPassed, Command: c.Run, Commit: at.Head, Log: "log of " + c.Name}
	if v := g.verdicts[c.Name]; v != "" {
		run.Verdict, run.ExitCode = v, 1
	}
	return run
}

// judged returns an instance with project web on a judgeGit.
func judged(t *testing.T, with ...func(*task.Project)) (*instance, *judgeGit) {
	t.Helper()
	git := &judgeGit{verdicts: map[string]task.Verdict{}, head: "head"}
	inst := newInstance(t, func(c *Config) { c.Repositories = git })
	inst.voters()
	p := task.Project{
		Key: "web", Repository: "/srv/web", Review: task.Review{Approvals: 1},
		Checks: []task.Check{{Name: "test", Run: "make test", Required: true}},
	}
	for _, w := range with {
		w(&p)
	}
	must(inst.s.CreateProject(inst.ctx(), maya, p))
	return inst, git
}

func (inst *instance) inWeb(owner string, with ...func(*task.New)) *task.Task {
	return inst.create(maya, owner, append([]func(*task.New){noStart, func(in *task.New) { in.Project = "web" }}, with...)...)
}

func (inst *instance) requirements(id task.ID) (texts []string, accept task.Accept) {
	list, accept, err := inst.s.ChecksInForce(inst.ctx(), maya, id)
	ok(inst.t, err)
	for _, c := range list {
		texts = append(texts, c.Text()+" by "+c.From)
	}
	return texts, accept
}

func TestRequirementsOfATaskAddUp(t *testing.T) {
	t.Parallel()
	inst, _ := judged(t)
	inst.define("pull", definition("tools: read", "runner: none", "checks: [{name: test, run: make test}, {name: lint, run: make lint, required: true}]",
		"review: {from: [rita]}"))
	tk := inst.inWeb("pull", func(in *task.New) {
		in.Checks = []task.Check{{Name: "lint", Run: "true"}, {Name: "pr", Kind: task.CheckURL}}
		in.Policy = &task.Review{Approvals: 2, From: []string{"reviewer"}, ExpiresSeconds: 60, StandIn: "maya"}
	})
	texts, accept := inst.requirements(tk.ID)
	equal(t, "checks", strings.Join(texts, "; "), "test: make test (required) by project web; lint: make lint (required) by agent pull; "+
		"lint.task: true by task; pr: a URL by task")
	equal(t, "policies", len(accept.All()), 3)
	equal(t, "the stand-in of the first policy", accept.StandIn, "maya")

	t.Run("a definition only adds", func(t *testing.T) {
		inst.define("pull", definition("tools: read", "runner: none", "checks: [{name: test, run: 'true'}]", "review: none"))
		texts, accept := inst.requirements(inst.inWeb("pull").ID)
		equal(t, "checks", strings.Join(texts, "; "), "test: make test (required) by project web; test.agent: true by agent pull")
		equal(t, "votes", accept.Approvals, 1)
	})
	t.Run("files are checked only if there are any", func(t *testing.T) {
		inst.define("pull", definition("tools: read", "runner: none",
			"checks: [{name: lint, run: make lint, required: true}, {name: pr, kind: url}]"))
		texts, _ := inst.requirements(inst.create(maya, "pull").ID)
		equal(t, "checks", strings.Join(texts, "; "), "pr: a URL by agent pull")
	})
}

func TestFailedChecksOfADefinitionRefuseACompletion(t *testing.T) {
	t.Parallel()
	inst, git := judged(t)
	inst.define("pull", definition("tools: read", "runner: none", "checks: [{name: lint, run: make lint, required: true}]"))
	tk := inst.inWeb("pull")
	git.verdicts["lint"] = task.CheckFailed
	_, err := inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0)
	refused(t, err, task.CodeChecksFailed, "the required check lint failed")
	delete(git.verdicts, "lint")
	must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
	equal(t, "checks of the result", len(must(inst.s.Result(inst.ctx(), maya, tk.ID, 0)).Checks), 2)
}

// TestARefusedCompletionShowsALog: a check that looks at something has none.
func TestARefusedCompletionShowsALog(t *testing.T) {
	t.Parallel()
	inst, git := judged(t, func(p *task.Project) {
		p.Checks = []task.Check{{Name: "pr", Kind: task.CheckURL, Required: true}, {Name: "test", Run: "make test", Required: true}}
	})
	inst.define("pull", definition("tools: read", "runner: none"))
	git.verdicts["test"] = task.CheckFailed
	tk := inst.inWeb("pull")
	_, err := inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0)
	refused(t, err, task.CodeChecksFailed, "check pr failed", "check test failed", "The end of the log of test:\nlog of test")
	must(inst.s.AddResource(inst.ctx(), pull, tk.ID, task.Resource{Type: "url", Value: "https://example.org/pr"}))
	_, err = inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0)
	refused(t, err, task.CodeChecksFailed, "check test failed", "The end of its log:\nlog of test")
}

// TestAnAgentCannotHandATaskOutOfItsChecks checks that an agent's requirements stay
// with the task.
func TestAnAgentCannotHandATaskOutOfItsChecks(t *testing.T) {
	t.Parallel()
	inst, git := judged(t)
	inst.define("pull", definition("tools: read", "runner: none", "checks: [{name: lint, run: make lint, required: true}]",
		"review: {approvals: 2}"))
	git.verdicts["lint"] = task.CheckFailed
	inst.define("lax", definition("tools: read", "runner: none"))
	lax := agentActor("lax")
	for name, give := range map[string]func(*task.Task) error{
		"moved": func(tk *task.Task) error {
			_, err := inst.s.MoveTask(inst.ctx(), pull, Move{TaskID: tk.ID, CurrentAgent: "pull", NewAgent: "lax", Comment: "yours"})
			return err
		},
		"reassigned": func(tk *task.Task) error {
			_, err := inst.s.Reassign(inst.ctx(), pull, "pull", []task.ID{tk.ID}, "lax", "yours")
			return err
		},
		"given another owner": func(tk *task.Task) error {
			to := "lax"
			_, err := inst.s.UpdateTask(inst.ctx(), pull, tk.ID, task.Patch{Owner: &to})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			tk := inst.inWeb("pull")
			must(inst.s.Signup(inst.ctx(), pull, "pull", 1))
			ok(t, give(tk))
			equal(t, "owner", inst.task(tk.ID).Owner, "lax")
			_, err := inst.s.CompleteTask(inst.ctx(), lax, tk.ID, "done", 0)
			refused(t, err, task.CodeChecksFailed, "lint")
			_, accept := inst.requirements(tk.ID)
			equal(t, "votes", accept.All()[1].Approvals, 2)
		})
	}
	t.Run("a person may remove them", func(t *testing.T) {
		tk := inst.inWeb("pull")
		to := "lax"
		must(inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Owner: &to}))
		must(inst.s.CompleteTask(inst.ctx(), lax, tk.ID, "done", 0))
	})
}

// TestNoAgentWeakensItsOwnTask tries every way of setting or removing the checks or
// the review of a task.
func TestNoAgentWeakensItsOwnTask(t *testing.T) {
	t.Parallel()
	inst, _ := judged(t)
	inst.define("planner", definition("tools: read, task", "runner: none"))
	ask := func(in *task.New) {
		in.Checks, in.Policy = []task.Check{{Name: "lint", Run: "make lint", Required: true}}, &task.Review{Approvals: 2}
	}
	tk := inst.inWeb("planner", ask)
	run := task.Actor{Name: "planner", Role: task.RoleAgent, RunID: 7}
	none, light := []task.Check{}, []task.Check{{Name: "lint", Run: "true"}}
	patch := func(a task.Actor, p task.Patch) func() error {
		return func() error { _, err := inst.s.UpdateTask(inst.ctx(), a, tk.ID, p); return err }
	}
	create := func(a task.Actor, fill func(*task.New)) func() error {
		return func() error {
			in := task.New{Title: "Easy", Owner: "planner", Project: "web", NoStart: true}
			fill(&in)
			_, err := inst.s.CreateTask(inst.ctx(), a, in)
			return err
		}
	}
	noProject := ""
	for name, try := range map[string]func() error{
		"an agent removes the checks":           patch(planner, task.Patch{Checks: &none}),
		"an agent replaces a check":             patch(planner, task.Patch{Checks: &light}),
		"an agent removes the policy":           patch(planner, task.Patch{Policy: &task.Review{}}),
		"an agent adds a voter":                 patch(planner, task.Patch{Policy: &task.Review{Approvals: 2, From: []string{"planner"}}}),
		"the token of a run removes the checks": patch(run, task.Patch{Checks: &none}),
		"the token of a run removes the policy": patch(run, task.Patch{Policy: &task.Review{}}),
		"another agent removes the checks":      patch(coder, task.Patch{Checks: &none}),
		"an agent takes it out of the project":  patch(planner, task.Patch{Project: &noProject}),
		"an operator removes the checks":        patch(oleg, task.Patch{Checks: &none}),
		"an operator removes the policy":        patch(oleg, task.Patch{Policy: &task.Review{}}),
		"a viewer removes the checks":           patch(vera, task.Patch{Checks: &none}),
		"an agent creates one with checks":      create(planner, func(in *task.New) { in.Checks = light }),
		"an agent creates one with a policy":    create(planner, func(in *task.New) { in.Policy = &task.Review{Approvals: 1} }),
		"an operator creates one with checks":   create(oleg, func(in *task.New) { in.Checks = light }),
		"an agent runs the check until it passes": func() error {
			_, err := inst.s.RunCheck(inst.ctx(), planner, tk.ID, "lint")
			return err
		},
		"the token of a run runs a check": func() error {
			_, err := inst.s.RunCheck(inst.ctx(), run, tk.ID, "lint")
			return err
		},
		"an agent changes the project": func() error {
			_, err := inst.s.UpdateProject(inst.ctx(), planner, task.Project{Key: "web"}, 0)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := try(); err == nil {
				t.Error("got no error")
			}
			texts, accept := inst.requirements(tk.ID)
			equal(t, "checks", strings.Join(texts, "; "), "test: make test (required) by project web; lint: make lint (required) by task")
			equal(t, "policies", len(accept.All()), 2)
		})
	}
}

func TestATaskPolicyRequiresASecondReviewer(t *testing.T) {
	t.Parallel()
	inst, _ := judged(t)
	tk := inst.inWeb("pull", func(in *task.New) { in.Policy = &task.Review{Approvals: 1, From: []string{"nina"}} })
	must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
	r := must(inst.s.Result(inst.ctx(), maya, tk.ID, 0))
	must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, r.Digest, ""))
	now := must(inst.s.Result(inst.ctx(), maya, tk.ID, 1))
	equal(t, "votes missing after rita's", now.VotesMissing(), 1)
	equal(t, "asked", now.MissingVoters(), "nina")
	equal(t, "why", must(inst.s.Why(inst.ctx(), maya, tk.ID))[0].Message[:51], "Result 1 has been waiting for 1 more vote from nina")
	must(inst.s.AcceptResult(inst.ctx(), nina, tk.ID, 1, r.Digest, ""))
	equal(t, "status", inst.task(tk.ID).Status, task.Done)

	t.Run("one vote can meet both", func(t *testing.T) {
		tk := inst.inWeb("pull", func(in *task.New) { in.Policy = &task.Review{Approvals: 1, From: []string{"nina"}} })
		must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
		must(inst.s.AcceptResult(inst.ctx(), nina, tk.ID, 1, must(inst.s.Result(inst.ctx(), maya, tk.ID, 0)).Digest, ""))
		equal(t, "status", inst.task(tk.ID).Status, task.Done)
	})
}

func TestATaskWithoutAProjectWaitsForItsOwnReview(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.define("pull", definition("tools: read", "runner: none", "review: required"))
	done := "done"
	for name, tk := range map[string]*task.Task{
		"by its definition": inst.create(maya, "pull"),
		"by itself":         inst.create(maya, "reviewer", func(in *task.New) { in.Policy = &task.Review{Approvals: 1} }),
		"by a check": inst.create(maya, "reviewer", func(in *task.New) {
			in.Checks = []task.Check{{Name: "pr", Kind: task.CheckURL, Required: true}}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Status: &done})
			refused(t, err, task.CodeReviewNeeded, "has checks or a review")
			must(inst.s.AddResource(inst.ctx(), maya, tk.ID, task.Resource{Type: "url", Value: "https://example.org/1"}))
			now := must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "said", 0))
			if len(tk.Checks) > 0 {
				equal(t, "status", now.Status, task.Done)
				return
			}
			equal(t, "waiting for", now.WaitingFor, task.WaitsReview)
			equal(t, "result shown with the task", now.Review.Result, 1)
			_, err = inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Status: &done})
			refused(t, err, task.CodeReviewNeeded)
			must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, must(inst.s.Result(inst.ctx(), maya, tk.ID, 0)).Digest, ""))
			equal(t, "status", inst.task(tk.ID).Status, task.Done)
		})
	}
	t.Run("a task without requirements is done at once", func(t *testing.T) {
		equal(t, "status", must(inst.s.CompleteTask(inst.ctx(), maya, inst.create(maya, "reviewer").ID, "", 0)).Status, task.Done)
	})
}

func TestChangedRequirementsVoidAResultUnderReview(t *testing.T) {
	t.Parallel()
	inst, _ := judged(t, func(p *task.Project) { p.Review.Approvals = 2 })
	tk := inst.inWeb("pull", func(in *task.New) { in.Checks = []task.Check{{Name: "lint", Run: "make lint", Required: true}} })
	must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
	first := must(inst.s.Result(inst.ctx(), maya, tk.ID, 0))
	must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, first.Digest, ""))

	t.Run("another policy keeps the votes on the same digest", func(t *testing.T) {
		must(inst.s.UpdateTask(inst.ctx(), rita, tk.ID, task.Patch{Policy: &task.Review{Approvals: 1, From: []string{"nina"}}}))
		r := must(inst.s.Result(inst.ctx(), maya, tk.ID, 0))
		equal(t, "number", r.Number, 2)
		equal(t, "digest", r.Digest, first.Digest)
		equal(t, "votes", len(r.Votes), 1)
		equal(t, "policies", len(r.Policy.All()), 2)
		equal(t, "log of its check", must(inst.s.CheckRun(inst.ctx(), maya, tk.ID, r.Checks[0].ID)).Log, "log of test")
		equal(t, "state of the first", must(inst.s.Result(inst.ctx(), maya, tk.ID, 1)).State, task.ResultSuperseded)
	})
	t.Run("another check sends the task back and drops the votes", func(t *testing.T) {
		must(inst.s.UpdateTask(inst.ctx(), rita, tk.ID,
			task.Patch{Checks: &[]task.Check{{Name: "lint", Run: "make lint STRICT=1", Required: true}}}))
		now := inst.task(tk.ID)
		equal(t, "waiting for", now.WaitingFor, task.WaitingFor(""))
		_, err := inst.s.AcceptResult(inst.ctx(), nina, tk.ID, 0, first.Digest, "")
		refused(t, err, task.CodeResultClosed)
		must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
		r := must(inst.s.Result(inst.ctx(), maya, tk.ID, 0))
		if r.Digest == first.Digest || len(r.Votes) != 0 {
			t.Errorf("the digest %s with %d votes survived another check", r.Digest, len(r.Votes))
		}
	})
	t.Run("nothing can be changed during the merge", func(t *testing.T) {
		inst, _ := judged(t, func(p *task.Project) { p.Merge = &task.Merge{} })
		tk := inst.inWeb("pull")
		must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
		must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, must(inst.s.Result(inst.ctx(), maya, tk.ID, 0)).Digest, ""))
		_, err := inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Policy: &task.Review{Approvals: 3}})
		refused(t, err, task.CodeTaskGated, "merge")
	})
}

func TestInvalidRequirementsAreRefused(t *testing.T) {
	t.Parallel()
	inst, _ := judged(t)
	for name, c := range map[string]struct {
		fill func(*task.New)
		says string
	}{
		"a command without a repository": {func(in *task.New) { in.Project, in.Checks = "", []task.Check{{Name: "a", Run: "b"}} }, "must be url"},
		"an invalid name":                {func(in *task.New) { in.Checks = []task.Check{{Name: "a.b", Run: "b"}} }, "1 to 32 characters"},
		"too many votes":                 {func(in *task.New) { in.Policy = &task.Review{Approvals: 11} }, "0 to 10"},
	} {
		t.Run(name, func(t *testing.T) {
			in := task.New{Title: "a", Owner: "pull", Project: "web"}
			c.fill(&in)
			_, err := inst.s.CreateTask(inst.ctx(), maya, in)
			refused(t, err, task.CodeInvalidField, c.says)
		})
	}
}

func TestRequirementsAreExportedAndImported(t *testing.T) {
	t.Parallel()
	from := newInstance(t)
	from.voters()
	from.define("pull", definition("tools: read", "runner: none", "review: required"))
	tk := from.create(maya, "pull", noStart, func(in *task.New) {
		in.Checks, in.Policy = []task.Check{{Name: "pr", Kind: task.CheckURL, Required: true}}, &task.Review{Approvals: 2, From: []string{"rita"}}
	})
	to := "coder"
	must(from.s.UpdateTask(from.ctx(), pull, tk.ID, task.Patch{Owner: &to}))
	first := from.export()
	inst := newInstance(t)
	inst.imported(first.plan(), ImportOptions{})
	now := inst.task(tk.ID)
	equal(t, "checks", now.Checks[0].Text(), "pr: a URL (required)")
	equal(t, "policy", now.Policy.Text(), "2 votes from rita")
	equal(t, "bound by", strings.Join(now.BoundBy, " "), "pull")
	equal(t, "exported again", inst.export().tasks, first.tasks)

	bad := exchange.Taskyard(exchange.Source{Name: "tasks.json", Data: []byte(
		`{"tasks":[{"id":"1","title":"a","owner":"pull","status":"draft","checks":[{"name":"a b","kind":"url"}],"policy":{"approvals":99}}]}`)}, nil, nil)
	_, err := inst.s.PrepareImport(maya, bad, ImportOptions{})
	refused(t, err, task.CodeInvalidField, "checks[0].name")
}

func TestAResultGoesToPeopleAfterTheConfiguredAttempts(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2} {
		inst := newInstance(t, noApprove, func(c *Config) { c.CheckAttempts = limit })
		must(inst.s.CreateProject(inst.ctx(), maya,
			task.Project{Key: "web", Checks: []task.Check{{Name: "pr", Kind: task.CheckURL, Required: true}}}))
		tk, _, own := inst.inRun("coder", func(in *task.New) { in.Project = "web" })
		for n := 1; n < limit; n++ {
			_, err := inst.s.CompleteTask(inst.ctx(), own, tk.ID, "done", 0)
			refused(t, err, task.CodeChecksFailed, "attempt 1 of 2")
		}
		must(inst.s.CompleteTask(inst.ctx(), own, tk.ID, "done", 0))
		r := must(inst.s.Result(inst.ctx(), maya, tk.ID, 0))
		equal(t, "state", r.State, task.ResultReview)
		equal(t, "votes missing", r.VotesMissing(), 1)
	}
}
