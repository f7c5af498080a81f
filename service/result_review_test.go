package service

import (
	"testing"
	"time"

	"taskyard/db"
	"taskyard/internal/exchange"
	"taskyard/task"
)

// reviewed creates a project with reviewed results and one check, which a URL among
// the resources meets, and returns a task in it.
func (inst *instance) reviewed(with ...func(*task.Project)) *task.Task {
	inst.t.Helper()
	p := task.Project{
		Key: "web", Review: task.Review{Approvals: 1},
		Checks: []task.Check{{Name: "preview", Kind: task.CheckURL, Required: true}},
	}
	for _, w := range with {
		w(&p)
	}
	inst.voters()
	must(inst.s.CreateProject(inst.ctx(), maya, p))
	return inst.create(maya, "pull", func(in *task.New) { in.Project = "web" })
}

// submitResult attaches what the check requires and completes the task.
func (inst *instance) submitResult(tk *task.Task, summary string) *task.Result {
	inst.t.Helper()
	if len(inst.task(tk.ID).Resources) == 0 {
		must(inst.s.AddResource(inst.ctx(), pull, tk.ID, task.Resource{Type: "url", Value: "https://example.org/preview"}))
	}
	must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, summary, 0))
	return must(inst.s.Result(inst.ctx(), maya, tk.ID, 0))
}

func TestACompletionIsRefusedWhileARequiredCheckFails(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.reviewed()
	_, err := inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0)
	refused(t, err, task.CodeChecksFailed, "checks_failed: task 1 is not completed", "preview failed", "no resource of the type url")
	equal(t, "status", inst.task(tk.ID).Status, task.Active)
	equal(t, "failed checks shown to the agent", len(inst.task(tk.ID).Review.FailedChecks), 1)
	list := must(inst.s.CheckRuns(inst.ctx(), maya, tk.ID))
	equal(t, "stored check runs", len(list), 1)

	r := inst.submitResult(tk, "done")
	equal(t, "state", r.State, task.ResultReview)
	equal(t, "checks of the result", len(r.Checks), 1)
	equal(t, "its verdict", r.Checks[0].Verdict, task.CheckPassed)
	now := inst.task(tk.ID)
	equal(t, "waiting for", now.WaitingFor, task.WaitsReview)
	if now.Claim != nil {
		t.Error("the task of a result under review is still claimed")
	}
	equal(t, "failed checks shown after a result", len(now.Review.FailedChecks), 0)
}

func TestAResultWaitsOnlyForPeople(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.reviewed()
	r := inst.submitResult(tk, "done")
	t.Run("no agent can claim the task", func(t *testing.T) {
		equal(t, "claimed", len(must(inst.s.Signup(inst.ctx(), pull, "pull", 1))), 0)
		working := "working"
		_, err := inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Status: &working})
		refused(t, err, task.CodeTaskGated, "waits for the review")
	})
	t.Run("why names the reviewers", func(t *testing.T) {
		list := must(inst.s.Why(inst.ctx(), maya, tk.ID))
		equal(t, "the first reason", list[0].Code, task.WhyReview)
	})
	t.Run("the inbox lists it", func(t *testing.T) {
		b := must(inst.s.Inbox(inst.ctx(), rita))
		equal(t, "reviews", b.Totals.Reviews, 1)
		equal(t, "number", b.Reviews[0].Number, 1)
		equal(t, "result", b.Reviews[0].ResultID, r.ID)
	})
	t.Run("the board shows it as waiting", func(t *testing.T) {
		equal(t, "tasks", len(must(inst.s.OpenTasks(inst.ctx(), maya, task.TaskFilter{Shown: task.ShownWaiting, Limit: 5})).Tasks), 1)
	})
	t.Run("accepting it ends the task with its summary", func(t *testing.T) {
		done := must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 0, r.Digest, "good"))
		equal(t, "status", done.Status, task.Done)
		equal(t, "summary", done.Summary, "done")
		last := must(inst.s.Result(inst.ctx(), maya, tk.ID, 0))
		equal(t, "state", last.State, task.ResultDone)
		equal(t, "voter", last.Votes[0].By, rita.Name)
		equal(t, "reviews in the inbox", must(inst.s.Inbox(inst.ctx(), rita)).Totals.Reviews, 0)
	})
}

// TestNoTaskIsDoneWithoutAcceptance tries every way that a caller has to bypass the
// review.
func TestNoTaskIsDoneWithoutAcceptance(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.reviewed()
	r := inst.submitResult(tk, "done")
	done, complete := "done", "complete"
	token := task.Actor{Name: "token:ci", Role: task.RoleReviewer, TokenID: 1}
	runToken := task.Actor{Name: "pull", Role: task.RoleAgent, RunID: 7}
	actAs := task.Actor{Name: "token:bot", Role: task.RoleAdmin, ActAs: true, TokenID: 1}
	accept := func(a task.Actor, digest string) func() error {
		return func() error {
			_, err := inst.s.AcceptResult(inst.ctx(), a, tk.ID, 0, digest, "")
			return err
		}
	}
	for name, try := range map[string]func() error{
		"an agent accepts":            accept(coder, r.Digest),
		"its own agent accepts":       accept(pull, r.Digest),
		"the token of a run accepts":  accept(runToken, r.Digest),
		"a token of nobody accepts":   accept(token, r.Digest),
		"a token that acts as others": accept(actAs, r.Digest),
		"the server accepts":          accept(task.SystemActor, r.Digest),
		"an operator accepts":         accept(oleg, r.Digest),
		"a viewer accepts":            accept(vera, r.Digest),
		"nobody accepts":              accept(task.Actor{}, r.Digest),
		"with another digest":         accept(rita, task.ResultDigest("", "other", nil)),
		"without a digest":            accept(rita, ""),
		"a status done by an agent": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), pull, tk.ID, task.Patch{Status: &done})
			return err
		},
		"a status done by an admin": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Status: &done})
			return err
		},
		"a status complete": func() error {
			_, err := inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Status: &complete})
			return err
		},
		"an agent takes it out of the project": func() error {
			none := ""
			_, err := inst.s.UpdateTask(inst.ctx(), pull, tk.ID, task.Patch{Project: &none})
			return err
		},
		"an operator takes it out": func() error {
			none := ""
			_, err := inst.s.UpdateTask(inst.ctx(), oleg, tk.ID, task.Patch{Project: &none})
			return err
		},
		"a person takes it out meanwhile": func() error {
			none := ""
			_, err := inst.s.UpdateTask(inst.ctx(), maya, tk.ID, task.Patch{Project: &none})
			return err
		},
		"a bulk action": func() error {
			out, err := inst.s.Bulk(inst.ctx(), maya, Bulk{IDs: []task.ID{tk.ID}, Act: BulkComplete})
			if err == nil && len(out.Done) == 0 {
				err = task.Errorf(task.Conflict, task.CodeReviewNeeded, "it was skipped")
			}
			return err
		},
		"completing it again without a vote": func() error {
			_, err := inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "done", 0)
			if err == nil && inst.task(tk.ID).Status == task.Active {
				err = task.Errorf(task.Conflict, task.CodeTaskGated, "it still waits")
			}
			return err
		},
		"the row itself": func() error {
			return inst.db.Write(inst.ctx(), func(tx *db.Tx) error { return tx.Archive(tk.ID, task.Done, "") })
		},
		"an import": func() error {
			plan := exchange.Taskyard(exchange.Source{Name: "tasks.json", Data: []byte(
				`{"tasks":[{"id":"1","title":"a","owner":"pull","status":"done","project":"web"}]}`)}, nil, nil)
			ready, err := inst.s.PrepareImport(maya, plan, ImportOptions{})
			if err != nil {
				return err
			}
			_, err = inst.s.Import(inst.ctx(), maya, ready)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := try(); err == nil {
				t.Error("got no error")
			}
			if now := inst.task(tk.ID); now.Status != task.Active || now.Project != "web" {
				t.Fatalf("got status %s in project %q", now.Status, now.Project)
			}
		})
	}
	equal(t, "votes", len(must(inst.s.Result(inst.ctx(), maya, tk.ID, 0)).Votes), 0)
}

func TestAPolicyAppliesToResultsCreatedUnderIt(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.reviewed()
	r := inst.submitResult(tk, "done")
	must(inst.s.UpdateProject(inst.ctx(), maya, task.Project{Key: "web"}, 0))
	now := inst.task(tk.ID)
	equal(t, "waiting for", now.WaitingFor, task.WaitsReview)
	must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, r.Digest, ""))
	equal(t, "status", inst.task(tk.ID).Status, task.Done)
}

func TestVotesBelongToAPersonAndADigest(t *testing.T) {
	t.Parallel()
	two := func(p *task.Project) { p.Review = task.Review{Approvals: 2, From: []string{"Rita", "admin"}} }
	t.Run("as many people accept as the policy requires", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t)
		tk := inst.reviewed(two)
		r := inst.submitResult(tk, "done")
		for range 2 { // one person, twice
			must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, r.Digest, ""))
		}
		equal(t, "status after one person", inst.task(tk.ID).Status, task.Active)
		must(inst.s.AcceptResult(inst.ctx(), maya, tk.ID, 1, r.Digest, ""))
		equal(t, "status after two", inst.task(tk.ID).Status, task.Done)
	})
	t.Run("votes of other people do not count", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t)
		tk := inst.reviewed(two)
		r := inst.submitResult(tk, "done")
		other := task.Actor{Name: "user:nina", Role: task.RoleReviewer, UserID: 9}
		_, err := inst.s.AcceptResult(inst.ctx(), other, tk.ID, 1, r.Digest, "")
		refused(t, err, task.CodeForbidden, "nina may not decide", "Rita or any admin")
	})
	t.Run("another digest drops votes, the same one keeps them", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t)
		tk := inst.reviewed(two)
		first := inst.submitResult(tk, "done")
		must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, first.Digest, ""))
		second := inst.submitResult(tk, "done, and more")
		equal(t, "number", second.Number, 2)
		equal(t, "votes on another summary", len(second.Votes), 0)
		equal(t, "state of the first", must(inst.s.Result(inst.ctx(), maya, tk.ID, 1)).State, task.ResultSuperseded)
		_, err := inst.s.AcceptResult(inst.ctx(), maya, tk.ID, 0, first.Digest, "")
		refused(t, err, task.CodeStaleDigest, second.Digest)
		third := inst.submitResult(tk, "done")
		equal(t, "votes on the first digest again", len(third.Votes), 1)
		must(inst.s.AcceptResult(inst.ctx(), maya, tk.ID, 3, third.Digest, ""))
		equal(t, "status", inst.task(tk.ID).Status, task.Done)
	})
	t.Run("the stand-in decides after the deadline, and nothing is accepted automatically", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t)
		tk := inst.reviewed(func(p *task.Project) {
			p.Review = task.Review{Approvals: 1, From: []string{"maya"}, ExpiresSeconds: 3600, StandIn: "rita"}
		})
		r := inst.submitResult(tk, "done")
		_, err := inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, r.Digest, "")
		refused(t, err, task.CodeForbidden)
		equal(t, "reminders before the time", must(inst.s.RemindReviewers(inst.ctx())), 0)
		inst.Forward(time.Hour + time.Minute)
		equal(t, "reminders", must(inst.s.RemindReviewers(inst.ctx())), 1)
		equal(t, "reminders a second time", must(inst.s.RemindReviewers(inst.ctx())), 0)
		equal(t, "status", inst.task(tk.ID).Status, task.Active)
		must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, r.Digest, ""))
		equal(t, "status", inst.task(tk.ID).Status, task.Done)
	})
	t.Run("a person who accepts and then requests changes has one vote", func(t *testing.T) {
		t.Parallel()
		inst := newInstance(t)
		tk := inst.reviewed(two)
		r := inst.submitResult(tk, "done")
		must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, r.Digest, ""))
		must(inst.s.RequestChanges(inst.ctx(), rita, tk.ID, 1, r.Digest, "after all, no"))
		again := inst.submitResult(tk, "done")
		equal(t, "accepting votes", again.VotesMissing(), 2)
	})
}

func TestRequestedChangesReachTheOwner(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.reviewed()
	r := inst.submitResult(tk, "done")
	_, err := inst.s.RequestChanges(inst.ctx(), rita, tk.ID, 1, r.Digest, " ")
	refused(t, err, task.CodeInvalidField, "text", "say what to change")
	mine := must(inst.s.DraftComment(inst.ctx(), rita, tk.ID, 0, task.ReviewComment{Text: "Name the author."}))
	gone := must(inst.s.DraftComment(inst.ctx(), rita, tk.ID, 0, task.ReviewComment{Text: "Never mind."}))
	must(inst.s.DraftComment(inst.ctx(), maya, tk.ID, 0, task.ReviewComment{Text: "Maya's draft."}))
	ok(t, inst.s.EditDraft(inst.ctx(), rita, tk.ID, gone.ID, ""))
	ok(t, inst.s.EditDraft(inst.ctx(), rita, tk.ID, mine.ID, "Name the authors."))
	t.Run("only the author sees drafts", func(t *testing.T) {
		equal(t, "rita's", len(must(inst.s.ReviewComments(inst.ctx(), rita, tk.ID))), 1)
		equal(t, "the agent's", len(must(inst.s.ReviewComments(inst.ctx(), pull, tk.ID))), 0)
		refused(t, inst.s.EditDraft(inst.ctx(), maya, tk.ID, mine.ID, "x"), task.CodeForbidden)
		_, err := inst.s.ReplyReview(inst.ctx(), pull, tk.ID, mine.ID, task.CommentFixed, "")
		refused(t, err, task.CodeNotFound)
	})
	must(inst.s.RequestChanges(inst.ctx(), rita, tk.ID, 1, r.Digest, "Nearly."))
	equal(t, "state of the result", must(inst.s.Result(inst.ctx(), maya, tk.ID, 1)).State, task.ResultChanges)
	claimed := must(inst.s.Signup(inst.ctx(), pull, "pull", 1))
	equal(t, "claimed", len(claimed), 1)
	equal(t, "comments with the claim", len(claimed[0].Review.Comments), 1)
	equal(t, "its text", claimed[0].Review.Comments[0].Text, "Name the authors.")
	equal(t, "comment in the thread", claimed[0].Comments[0].Content, "Changes requested on result 1: Nearly.\n(1 comment on the change)")

	t.Run("the agent replies to each", func(t *testing.T) {
		_, err := inst.s.ReplyReview(inst.ctx(), pull, tk.ID, mine.ID, task.CommentDeclined, "")
		refused(t, err, task.CodeInvalidField, "say why")
		_, err = inst.s.ReplyReview(inst.ctx(), pull, tk.ID, mine.ID, task.CommentResolved, "")
		refused(t, err, task.CodeInvalidField, "only people resolve")
		_, err = inst.s.ReplyReview(inst.ctx(), coder, tk.ID, mine.ID, task.CommentFixed, "")
		refused(t, err, task.CodeForbidden)
		c := must(inst.s.ReplyReview(inst.ctx(), pull, tk.ID, mine.ID, task.CommentFixed, "Added."))
		equal(t, "state", c.State, task.CommentFixed)
		equal(t, "reply", c.Replies[0].Text, "Added.")
		equal(t, "open comments", len(inst.task(tk.ID).Review.Comments), 0)
	})
	t.Run("a person reopens it", func(t *testing.T) {
		must(inst.s.ReplyReview(inst.ctx(), rita, tk.ID, mine.ID, task.CommentOpen, "Not all of them."))
		equal(t, "open comments", len(inst.task(tk.ID).Review.Comments), 1)
	})
}

func TestAcceptingSendsTheDrafts(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.reviewed()
	r := inst.submitResult(tk, "done")
	must(inst.s.DraftComment(inst.ctx(), rita, tk.ID, 0, task.ReviewComment{Text: "Name the author next time."}))
	must(inst.s.DraftComment(inst.ctx(), nina, tk.ID, 0, task.ReviewComment{Text: "Nina's draft."}))
	must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 1, r.Digest, ""))
	list := must(inst.s.ReviewComments(inst.ctx(), maya, tk.ID))
	equal(t, "comments visible to others", len(list), 1)
	equal(t, "its text", list[0].Text, "Name the author next time.")
	equal(t, "its state", list[0].State, task.CommentOpen)
}

func TestReviewCommentsOfAnArchivedTaskAreReadOnly(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.reviewed()
	r := inst.submitResult(tk, "done")
	draft := func(text string) (task.ReviewComment, error) {
		return inst.s.DraftComment(inst.ctx(), rita, tk.ID, 0, task.ReviewComment{Text: text})
	}
	sent := must(draft("Name the author."))
	must(inst.s.SubmitComments(inst.ctx(), rita, tk.ID))
	left := must(draft("Never sent."))
	must(inst.s.AcceptResult(inst.ctx(), maya, tk.ID, 1, r.Digest, ""))
	equal(t, "status", inst.task(tk.ID).Status, task.Done)

	_, err := inst.s.ReplyReview(inst.ctx(), pull, tk.ID, sent.ID, task.CommentFixed, "")
	refused(t, err, task.CodeArchived)
	_, err = inst.s.ReplyReview(inst.ctx(), rita, tk.ID, sent.ID, task.CommentResolved, "")
	refused(t, err, task.CodeArchived)
	_, err = draft("One more.")
	refused(t, err, task.CodeArchived)
	_, err = inst.s.SubmitComments(inst.ctx(), rita, tk.ID)
	refused(t, err, task.CodeArchived)
	equal(t, "open comments", len(inst.task(tk.ID).Review.Comments), 1)
	ok(t, inst.s.EditDraft(inst.ctx(), rita, tk.ID, left.ID, ""))
}

func TestWithoutAPolicyAResultEndsItsTask(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.reviewed(func(p *task.Project) { p.Review = task.Review{} })
	r := inst.submitResult(tk, "done")
	equal(t, "state", r.State, task.ResultDone)
	equal(t, "status", inst.task(tk.ID).Status, task.Done)
}

func TestCancelingATaskEndsItsResult(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.reviewed()
	inst.submitResult(tk, "done")
	must(inst.s.CancelTask(inst.ctx(), maya, tk.ID, "not needed"))
	equal(t, "state", must(inst.s.Result(inst.ctx(), maya, tk.ID, 1)).State, task.ResultCanceled)
	equal(t, "reviews in the inbox", must(inst.s.Inbox(inst.ctx(), rita)).Totals.Reviews, 0)
}
