package service

import (
	"testing"
	"time"

	"taskyard/db"
	"taskyard/internal/exchange"
	"taskyard/task"
)

// reviewed makes a project whose results people accept, with one check that a
// URL among the resources meets, and returns a task in it.
func (y *instance) reviewed(with ...func(*task.Project)) *task.Task {
	y.t.Helper()
	p := task.Project{
		Key: "web", Review: task.Review{Approvals: 1},
		Checks: []task.Check{{Name: "preview", Kind: task.CheckURL, Required: true}},
	}
	for _, w := range with {
		w(&p)
	}
	y.voters()
	must(y.s.CreateProject(y.ctx(), maya, p))
	return y.create(maya, "pull", func(in *task.New) { in.Project = "web" })
}

// handIn attaches what the check asks for and completes the task.
func (y *instance) handIn(tk *task.Task, summary string) *task.Result {
	y.t.Helper()
	if len(y.task(tk.ID).Resources) == 0 {
		must(y.s.AddResource(y.ctx(), pull, tk.ID, task.Resource{Type: "url", Value: "https://example.org/preview"}))
	}
	must(y.s.CompleteTask(y.ctx(), pull, tk.ID, summary, 0))
	return must(y.s.Result(y.ctx(), maya, tk.ID, 0))
}

func TestACompletionIsRefusedWhileARequiredCheckDoesNotPass(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	tk := y.reviewed()
	_, err := y.s.CompleteTask(y.ctx(), pull, tk.ID, "done", 0)
	refused(t, err, task.CodeChecksFailed, "checks_failed: task 1 is not completed", "preview failed", "no resource of the type url")
	equal(t, "status", y.task(tk.ID).Status, task.Active)
	equal(t, "failed checks that the agent is told", len(y.task(tk.ID).Review.FailedChecks), 1)
	list := must(y.s.CheckRuns(y.ctx(), maya, tk.ID))
	equal(t, "check runs on record", len(list), 1)

	r := y.handIn(tk, "done")
	equal(t, "state", r.State, task.ResultReview)
	equal(t, "checks of the result", len(r.Checks), 1)
	equal(t, "its verdict", r.Checks[0].Verdict, task.CheckPassed)
	now := y.task(tk.ID)
	equal(t, "waits for", now.WaitingFor, task.WaitsReview)
	if now.Claim != nil {
		t.Error("the claim of a result under review is still held")
	}
	equal(t, "failed checks that are told after a result", len(now.Review.FailedChecks), 0)
}

func TestAResultWaitsForPeopleAndForNothingElse(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	tk := y.reviewed()
	r := y.handIn(tk, "done")
	t.Run("no agent claims the task", func(t *testing.T) {
		equal(t, "claimed", len(must(y.s.Signup(y.ctx(), pull, "pull", 1))), 0)
		working := "working"
		_, err := y.s.UpdateTask(y.ctx(), maya, tk.ID, task.Patch{Status: &working})
		refused(t, err, task.CodeTaskGated, "waits for the review")
	})
	t.Run("why names who is asked", func(t *testing.T) {
		list := must(y.s.Why(y.ctx(), maya, tk.ID))
		equal(t, "the first reason", list[0].Code, task.WhyReview)
	})
	t.Run("the inbox lists it", func(t *testing.T) {
		b := must(y.s.Inbox(y.ctx(), rita))
		equal(t, "reviews", b.Totals.Reviews, 1)
		equal(t, "number", b.Reviews[0].Number, 1)
		equal(t, "result", b.Reviews[0].ResultID, r.ID)
	})
	t.Run("it is drawn as waiting", func(t *testing.T) {
		equal(t, "tasks", len(must(y.s.OpenTasks(y.ctx(), maya, task.TaskFilter{Shown: task.ShownWaiting, Limit: 5})).Tasks), 1)
	})
	t.Run("accepting it ends the task with its summary", func(t *testing.T) {
		done := must(y.s.AcceptResult(y.ctx(), rita, tk.ID, 0, r.Digest, "good"))
		equal(t, "status", done.Status, task.Done)
		equal(t, "summary", done.Summary, "done")
		last := must(y.s.Result(y.ctx(), maya, tk.ID, 0))
		equal(t, "state", last.State, task.ResultDone)
		equal(t, "voter", last.Votes[0].By, rita.Name)
		equal(t, "reviews in the inbox", must(y.s.Inbox(y.ctx(), rita)).Totals.Reviews, 0)
	})
}

// TestNoTaskIsDoneWithoutAcceptance tries to get past the review in every way
// that a caller has.
func TestNoTaskIsDoneWithoutAcceptance(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	tk := y.reviewed()
	r := y.handIn(tk, "done")
	done, complete := "done", "complete"
	token := task.Actor{Name: "token:ci", Role: task.RoleReviewer, TokenID: 1}
	runToken := task.Actor{Name: "pull", Role: task.RoleAgent, RunID: 7}
	actAs := task.Actor{Name: "token:bot", Role: task.RoleAdmin, ActAs: true, TokenID: 1}
	accept := func(a task.Actor, digest string) func() error {
		return func() error {
			_, err := y.s.AcceptResult(y.ctx(), a, tk.ID, 0, digest, "")
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
		"a status done by an agent":   func() error { _, err := y.s.UpdateTask(y.ctx(), pull, tk.ID, task.Patch{Status: &done}); return err },
		"a status done by an admin":   func() error { _, err := y.s.UpdateTask(y.ctx(), maya, tk.ID, task.Patch{Status: &done}); return err },
		"a status complete": func() error {
			_, err := y.s.UpdateTask(y.ctx(), maya, tk.ID, task.Patch{Status: &complete})
			return err
		},
		"an agent takes it out of the project": func() error {
			none := ""
			_, err := y.s.UpdateTask(y.ctx(), pull, tk.ID, task.Patch{Project: &none})
			return err
		},
		"an operator takes it out": func() error {
			none := ""
			_, err := y.s.UpdateTask(y.ctx(), oleg, tk.ID, task.Patch{Project: &none})
			return err
		},
		"a person takes it out meanwhile": func() error {
			none := ""
			_, err := y.s.UpdateTask(y.ctx(), maya, tk.ID, task.Patch{Project: &none})
			return err
		},
		"an act on many tasks": func() error {
			out, err := y.s.Bulk(y.ctx(), maya, Bulk{IDs: []task.ID{tk.ID}, Act: BulkComplete})
			if err == nil && len(out.Done) == 0 {
				err = task.Errorf(task.Conflict, task.CodeReviewNeeded, "it was skipped")
			}
			return err
		},
		"completing it again without a vote": func() error {
			_, err := y.s.CompleteTask(y.ctx(), maya, tk.ID, "done", 0)
			if err == nil && y.task(tk.ID).Status == task.Active {
				err = task.Errorf(task.Conflict, task.CodeTaskGated, "it still waits")
			}
			return err
		},
		"the row itself": func() error {
			return y.db.Write(y.ctx(), func(tx *db.Tx) error { return tx.Archive(tk.ID, task.Done, "") })
		},
		"an import": func() error {
			plan := exchange.Taskyard(exchange.Source{Name: "tasks.json", Data: []byte(
				`{"tasks":[{"id":"1","title":"a","owner":"pull","status":"done","project":"web"}]}`)}, nil, nil)
			ready, err := y.s.PrepareImport(maya, plan, ImportOptions{})
			if err != nil {
				return err
			}
			_, err = y.s.Import(y.ctx(), maya, ready)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := try(); err == nil {
				t.Error("it was not refused")
			}
			if now := y.task(tk.ID); now.Status != task.Active || now.Project != "web" {
				t.Fatalf("the task is %s in project %q", now.Status, now.Project)
			}
		})
	}
	equal(t, "votes", len(must(y.s.Result(y.ctx(), maya, tk.ID, 0)).Votes), 0)
}

func TestAPolicyHoldsForTheResultsThatWereMadeUnderIt(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	tk := y.reviewed()
	r := y.handIn(tk, "done")
	must(y.s.UpdateProject(y.ctx(), maya, task.Project{Key: "web"}, 0))
	now := y.task(tk.ID)
	equal(t, "waits for", now.WaitingFor, task.WaitsReview)
	must(y.s.AcceptResult(y.ctx(), rita, tk.ID, 1, r.Digest, ""))
	equal(t, "status", y.task(tk.ID).Status, task.Done)
}

func TestVotesBelongToAPersonAndADigest(t *testing.T) {
	t.Parallel()
	two := func(p *task.Project) { p.Review = task.Review{Approvals: 2, From: []string{"Rita", "admin"}} }
	t.Run("as many people as the policy asks for accept", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t)
		tk := y.reviewed(two)
		r := y.handIn(tk, "done")
		for range 2 { // one person, twice
			must(y.s.AcceptResult(y.ctx(), rita, tk.ID, 1, r.Digest, ""))
		}
		equal(t, "status after one person", y.task(tk.ID).Status, task.Active)
		must(y.s.AcceptResult(y.ctx(), maya, tk.ID, 1, r.Digest, ""))
		equal(t, "status after two", y.task(tk.ID).Status, task.Done)
	})
	t.Run("votes of others do not count", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t)
		tk := y.reviewed(two)
		r := y.handIn(tk, "done")
		other := task.Actor{Name: "user:nina", Role: task.RoleReviewer, UserID: 9}
		_, err := y.s.AcceptResult(y.ctx(), other, tk.ID, 1, r.Digest, "")
		refused(t, err, task.CodeForbidden, "nina may not decide", "Rita or any admin")
	})
	t.Run("another digest drops them, the same one keeps them", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t)
		tk := y.reviewed(two)
		first := y.handIn(tk, "done")
		must(y.s.AcceptResult(y.ctx(), rita, tk.ID, 1, first.Digest, ""))
		second := y.handIn(tk, "done, and more")
		equal(t, "number", second.Number, 2)
		equal(t, "votes on another summary", len(second.Votes), 0)
		equal(t, "the first is", must(y.s.Result(y.ctx(), maya, tk.ID, 1)).State, task.ResultSuperseded)
		_, err := y.s.AcceptResult(y.ctx(), maya, tk.ID, 0, first.Digest, "")
		refused(t, err, task.CodeStaleDigest, second.Digest)
		third := y.handIn(tk, "done")
		equal(t, "votes on the first digest again", len(third.Votes), 1)
		must(y.s.AcceptResult(y.ctx(), maya, tk.ID, 3, third.Digest, ""))
		equal(t, "status", y.task(tk.ID).Status, task.Done)
	})
	t.Run("the stand-in decides after the time, and nothing is accepted by itself", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t)
		tk := y.reviewed(func(p *task.Project) {
			p.Review = task.Review{Approvals: 1, From: []string{"maya"}, ExpiresSeconds: 3600, StandIn: "rita"}
		})
		r := y.handIn(tk, "done")
		_, err := y.s.AcceptResult(y.ctx(), rita, tk.ID, 1, r.Digest, "")
		refused(t, err, task.CodeForbidden)
		equal(t, "reminders before the time", must(y.s.RemindReviewers(y.ctx())), 0)
		y.Forward(time.Hour + time.Minute)
		equal(t, "reminders", must(y.s.RemindReviewers(y.ctx())), 1)
		equal(t, "a second time", must(y.s.RemindReviewers(y.ctx())), 0)
		equal(t, "status", y.task(tk.ID).Status, task.Active)
		must(y.s.AcceptResult(y.ctx(), rita, tk.ID, 1, r.Digest, ""))
		equal(t, "status", y.task(tk.ID).Status, task.Done)
	})
	t.Run("a person who voted and then wants changes has one vote", func(t *testing.T) {
		t.Parallel()
		y := newInstance(t)
		tk := y.reviewed(two)
		r := y.handIn(tk, "done")
		must(y.s.AcceptResult(y.ctx(), rita, tk.ID, 1, r.Digest, ""))
		must(y.s.RequestChanges(y.ctx(), rita, tk.ID, 1, r.Digest, "after all, no"))
		again := y.handIn(tk, "done")
		equal(t, "accepting votes", again.VotesMissing(), 2)
	})
}

func TestChangesThatAreRequestedReachTheOwner(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	tk := y.reviewed()
	r := y.handIn(tk, "done")
	_, err := y.s.RequestChanges(y.ctx(), rita, tk.ID, 1, r.Digest, " ")
	refused(t, err, task.CodeInvalidField, "text", "say what to change")
	mine := must(y.s.DraftComment(y.ctx(), rita, tk.ID, 0, task.ReviewComment{Text: "Name the author."}))
	gone := must(y.s.DraftComment(y.ctx(), rita, tk.ID, 0, task.ReviewComment{Text: "Never mind."}))
	must(y.s.DraftComment(y.ctx(), maya, tk.ID, 0, task.ReviewComment{Text: "Maya's draft."}))
	ok(t, y.s.EditDraft(y.ctx(), rita, tk.ID, gone.ID, ""))
	ok(t, y.s.EditDraft(y.ctx(), rita, tk.ID, mine.ID, "Name the authors."))
	t.Run("drafts are seen by their author alone", func(t *testing.T) {
		equal(t, "rita's", len(must(y.s.ReviewComments(y.ctx(), rita, tk.ID))), 1)
		equal(t, "the agent's", len(must(y.s.ReviewComments(y.ctx(), pull, tk.ID))), 0)
		refused(t, y.s.EditDraft(y.ctx(), maya, tk.ID, mine.ID, "x"), task.CodeForbidden)
		_, err := y.s.ReplyReview(y.ctx(), pull, tk.ID, mine.ID, task.CommentFixed, "")
		refused(t, err, task.CodeNotFound)
	})
	must(y.s.RequestChanges(y.ctx(), rita, tk.ID, 1, r.Digest, "Nearly."))
	equal(t, "the result is", must(y.s.Result(y.ctx(), maya, tk.ID, 1)).State, task.ResultChanges)
	claimed := must(y.s.Signup(y.ctx(), pull, "pull", 1))
	equal(t, "claimed", len(claimed), 1)
	equal(t, "comments with the claim", len(claimed[0].Review.Comments), 1)
	equal(t, "its text", claimed[0].Review.Comments[0].Text, "Name the authors.")
	equal(t, "the thread says", claimed[0].Comments[0].Content, "Changes requested on result 1: Nearly.\n(1 comment on the change)")

	t.Run("the agent answers each", func(t *testing.T) {
		_, err := y.s.ReplyReview(y.ctx(), pull, tk.ID, mine.ID, task.CommentDeclined, "")
		refused(t, err, task.CodeInvalidField, "say why")
		_, err = y.s.ReplyReview(y.ctx(), pull, tk.ID, mine.ID, task.CommentResolved, "")
		refused(t, err, task.CodeInvalidField, "only people resolve")
		_, err = y.s.ReplyReview(y.ctx(), coder, tk.ID, mine.ID, task.CommentFixed, "")
		refused(t, err, task.CodeForbidden)
		c := must(y.s.ReplyReview(y.ctx(), pull, tk.ID, mine.ID, task.CommentFixed, "Added."))
		equal(t, "state", c.State, task.CommentFixed)
		equal(t, "reply", c.Replies[0].Text, "Added.")
		equal(t, "open comments", len(y.task(tk.ID).Review.Comments), 0)
	})
	t.Run("a person reopens it", func(t *testing.T) {
		must(y.s.ReplyReview(y.ctx(), rita, tk.ID, mine.ID, task.CommentOpen, "Not all of them."))
		equal(t, "open comments", len(y.task(tk.ID).Review.Comments), 1)
	})
}

func TestReviewCommentsOfAnArchivedTaskAreReadOnly(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	tk := y.reviewed()
	r := y.handIn(tk, "done")
	draft := func(text string) (task.ReviewComment, error) {
		return y.s.DraftComment(y.ctx(), rita, tk.ID, 0, task.ReviewComment{Text: text})
	}
	sent := must(draft("Name the author."))
	must(y.s.SubmitComments(y.ctx(), rita, tk.ID))
	left := must(draft("Never sent."))
	must(y.s.AcceptResult(y.ctx(), maya, tk.ID, 1, r.Digest, ""))
	equal(t, "status", y.task(tk.ID).Status, task.Done)

	_, err := y.s.ReplyReview(y.ctx(), pull, tk.ID, sent.ID, task.CommentFixed, "")
	refused(t, err, task.CodeArchived)
	_, err = y.s.ReplyReview(y.ctx(), rita, tk.ID, sent.ID, task.CommentResolved, "")
	refused(t, err, task.CodeArchived)
	_, err = draft("One more.")
	refused(t, err, task.CodeArchived)
	_, err = y.s.SubmitComments(y.ctx(), rita, tk.ID)
	refused(t, err, task.CodeArchived)
	equal(t, "open comments", len(y.task(tk.ID).Review.Comments), 1)
	ok(t, y.s.EditDraft(y.ctx(), rita, tk.ID, left.ID, ""))
}

func TestWithoutPolicyAResultEndsItsTask(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	tk := y.reviewed(func(p *task.Project) { p.Review = task.Review{} })
	r := y.handIn(tk, "done")
	equal(t, "state", r.State, task.ResultDone)
	equal(t, "status", y.task(tk.ID).Status, task.Done)
}

func TestCancelingATaskEndsItsResult(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	tk := y.reviewed()
	y.handIn(tk, "done")
	must(y.s.CancelTask(y.ctx(), maya, tk.ID, "not needed"))
	equal(t, "state", must(y.s.Result(y.ctx(), maya, tk.ID, 1)).State, task.ResultCanceled)
	equal(t, "reviews in the inbox", must(y.s.Inbox(y.ctx(), rita)).Totals.Reviews, 0)
}
