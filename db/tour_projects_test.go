package db_test

import (
	"context"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

// scriptedGit stands in for the repository of the tour.
type scriptedGit struct {
	head    string
	verdict task.Verdict
	apply   []task.Merged // results, in order
	cut     bool          // Advance fails
}

func (g *scriptedGit) Examine(context.Context, *task.Project) []task.Finding { return nil }

func (g *scriptedGit) Snapshot(context.Context, task.Worktree, string) (*task.Revision, error) {
	return &task.Revision{Base: "base", Head: g.head, Patch: g.head, Files: []task.FileChange{{Path: "a.go"}}, Total: 1}, nil
}

func (g *scriptedGit) Check(context.Context, task.Worktree, *task.Revision, task.Check) task.CheckRun {
	return task.CheckRun{Verdict: g.verdict, Log: "log"}
}

func (g *scriptedGit) Files(context.Context, string, string, string) ([]task.FileChange, int, error) {
	return nil, 0, nil
}

func (g *scriptedGit) FileDiff(context.Context, string, string, string, string, int) (*task.FileChange, error) {
	return &task.FileChange{}, nil
}

func (g *scriptedGit) Apply(context.Context, task.MergeOrder) (*task.Merged, error) {
	out := g.apply[0]
	g.apply = g.apply[1:]
	return &out, nil
}

func (g *scriptedGit) Advance(context.Context, task.MergeOrder, string, string) error {
	if g.cut {
		return task.Errorf(task.Conflict, task.CodeMergeWaits, "local changes")
	}
	return nil
}

func (g *scriptedGit) Contains(context.Context, string, string, string) (bool, error) {
	return !g.cut, nil
}

func (g *scriptedGit) Retire(context.Context, task.Worktree, string) error { return nil }

// projects takes tasks from completion to merge, with every outcome.
func projects(t *testing.T, s *service.Service, git *scriptedGit) {
	ctx := context.Background()
	project := task.Project{
		Key: "web", Repository: "/srv/web", Checks: []task.Check{{Name: "test", Run: "make", Required: true}},
		Review: task.Review{Approvals: 1, ExpiresSeconds: 1}, Merge: &task.Merge{KeepBranchHours: 1},
	}
	made := must(s.CreateProject(ctx, admin, project))
	must(s.UpdateProject(ctx, admin, project, made.Version))
	must(s.Projects(ctx, admin))
	must(s.Project(ctx, admin, "web"))
	must(s.ProjectKeys(ctx, admin))

	tk := create(t, s, admin, task.New{NoStart: true})
	in := "web"
	must(s.UpdateTask(ctx, admin, tk.ID, task.Patch{Project: &in}))
	must(s.OpenTasks(ctx, admin, task.TaskFilter{Project: "web", Limit: 5}))
	must(s.CreateSubtask(ctx, admin, create(t, s, admin, task.New{NoStart: true, Project: "web", Steps: []task.Step{{Title: "a"}}}).ID, 0,
		task.New{Title: "s", NoStart: true}))

	webber := task.Actor{Name: "webber", Role: task.RoleAgent}
	must(s.Signup(ctx, webber, "webber", 1))
	must(s.UpdateTask(ctx, admin, tk.ID, task.Patch{Policy: &task.Review{Approvals: 1}}))

	git.verdict = task.CheckFailed
	must(s.RunCheck(ctx, admin, tk.ID, "test"))
	if _, err := s.CompleteTask(ctx, agent, tk.ID, "", 0); !task.IsCode(err, task.CodeChecksFailed) {
		t.Fatalf("completing with a failed check: %v", err)
	}
	must(s.Task(ctx, admin, tk.ID))
	git.verdict = task.CheckPassed
	must(s.CompleteTask(ctx, agent, tk.ID, "one", 0))
	r := must(s.Result(ctx, admin, tk.ID, 0))
	must(s.Result(ctx, admin, tk.ID, 1))
	must(s.Results(ctx, admin, tk.ID))
	list := must(s.CheckRuns(ctx, admin, tk.ID))
	must(s.CheckRun(ctx, admin, tk.ID, list[0].ID))
	must(s.Inbox(ctx, admin))
	must(s.Snooze(ctx, admin, task.WaitReview, r.ID, s.Now().Add(time.Hour)))
	must(s.OpenTasks(ctx, admin, task.TaskFilter{Shown: task.ShownWaiting, Limit: 5}))
	must(s.Why(ctx, admin, tk.ID))
	for _, text := range []string{"draft", "line", "gone"} {
		must(s.DraftComment(ctx, admin, tk.ID, 0, task.ReviewComment{Path: "a", Line: 1, Text: text}))
	}
	comments := must(s.ReviewComments(ctx, admin, tk.ID))
	ok(t, s.EditDraft(ctx, admin, tk.ID, comments[0].ID, "better"))
	ok(t, s.EditDraft(ctx, admin, tk.ID, comments[2].ID, ""))
	must(s.SubmitComments(ctx, admin, tk.ID))
	must(s.ReplyReview(ctx, agent, tk.ID, comments[0].ID, task.CommentFixed, "so"))
	ok(t, s.SetViewed(ctx, admin, tk.ID, "a", "mark"))
	must(s.ViewedFiles(ctx, admin, tk.ID))
	ok(t, s.SetViewed(ctx, admin, tk.ID, "a", ""))
	must(s.RequestChanges(ctx, admin, tk.ID, 0, r.Digest, "more"))

	git.head = "second"
	must(s.CompleteTask(ctx, agent, tk.ID, "two", 0))
	git.verdict = task.CheckFailed
	must(s.RunCheck(ctx, admin, tk.ID, "test")) // replaced by a result with another digest
	git.verdict = task.CheckPassed
	git.head = "third"
	must(s.CompleteTask(ctx, agent, tk.ID, "three", 0)) // replaces the second
	r = must(s.Result(ctx, admin, tk.ID, 0))
	must(s.AcceptResult(ctx, admin, tk.ID, 0, r.Digest, "good"))
	must(s.Why(ctx, admin, tk.ID))
	git.apply = []task.Merged{{Code: "merge_conflict", Reason: "a", Checks: []task.CheckRun{{Verdict: task.CheckFailed}}}}
	merge(t, s, true)
	must(s.Task(ctx, admin, tk.ID))

	must(s.CompleteTask(ctx, agent, tk.ID, "three", 0)) // the accepted digest, whose vote no longer counts
	must(s.AcceptResult(ctx, admin, tk.ID, 0, r.Digest, "good"))
	git.apply, git.cut = []task.Merged{{Before: "base", After: "new"}, {Before: "base", After: "new"}}, true
	merge(t, s, true)
	merge(t, s, false) // the merge waits
	must(s.Why(ctx, admin, tk.ID))
	_, _, err := s.ProjectMerges(ctx, admin, "web", 0, 5)
	ok(t, err)
	must(s.CancelTask(ctx, admin, tk.ID, ""))

	second := create(t, s, admin, task.New{NoStart: true, Project: "web"})
	git.cut, git.apply = false, []task.Merged{{Before: "base", After: "new"}}
	must(s.CompleteTask(ctx, agent, second.ID, "", 0))
	must(s.AcceptResult(ctx, admin, second.ID, 0, must(s.Result(ctx, admin, second.ID, 0)).Digest, ""))
	merge(t, s, true)
	if tk := must(s.Task(ctx, admin, second.ID)); tk.Status != task.Done {
		t.Fatalf("the merged task has status %s, want done", tk.Status)
	}
	_, _, err = s.ProjectMerges(ctx, admin, "", 0, 5)
	ok(t, err)
	must(s.History(ctx, admin, task.HistoryFilter{Project: "web", Limit: 5}))
}

func merge(t *testing.T, s *service.Service, want bool) {
	t.Helper()
	did, _, err := s.MergeNext(context.Background())
	ok(t, err)
	equal(t, "a merge was made", did, want)
}

// overdue runs the periodic work on results and branches a year later.
func overdue(t *testing.T, s *service.Service) {
	ctx := context.Background()
	waits := create(t, s, admin, task.New{NoStart: true, Project: "web"})
	must(s.CompleteTask(ctx, agent, waits.ID, "", 0))
}
