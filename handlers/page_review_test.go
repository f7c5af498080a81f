package handlers

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/internal/testkit/testgit"
	"taskyard/task"
)

// submitResult commits files to the branch of a task and completes it as its owner.
func (s *site) submitResult(repo *testgit.Repo, id task.ID, summary string, files map[string]string) *task.Result {
	s.t.Helper()
	repo.Commit(fmt.Sprintf("taskyard/%d-change-it", id), files)
	_, err := s.svc.CompleteTask(s.t.Context(), mayaActor, id, summary, 0)
	s.ok(err)
	r, err := s.svc.Result(s.t.Context(), mayaActor, id, 0)
	s.ok(err)
	return r
}

func numbered(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d\n", prefix, i+1)
	}
	return b.String()
}

// newReviewSite returns a site with a task whose result waits for review.
func newReviewSite(t *testing.T) (*site, *browser, *testgit.Repo) {
	t.Helper()
	inst := gitSite(t)
	b := inst.maya()
	repo := testgit.New(t, map[string]string{"main.go": numbered("line", 40), "gone.txt": "old\n"})
	inst.project("web", repo.Dir)
	inst.newTask(mayaActor, task.New{
		Title: "Change it", Description: "Make it *better*.", Owner: "pull", Project: "web", Status: task.Active,
	})
	inst.submitResult(repo, 1, "It is **done**.", map[string]string{
		"main.go":      strings.Replace(numbered("line", 40), "line 20\n", "line twenty\nand more\n", 1),
		"gone.txt":     "",
		"a \u202eb.md": "new \u202etext\n",
	})
	return inst, b, repo
}

func TestReviewNamesOtherResultsOfTheSameFiles(t *testing.T) {
	t.Parallel()
	inst, b, repo := newReviewSite(t)
	b.get("/tasks/1/review").is(200).hides("change the same files")
	tk := inst.newTask(mayaActor, task.New{Title: "Change it", Owner: "pull", Project: "web", Status: task.Active})
	inst.submitResult(repo, tk.ID, "Shorter.", map[string]string{"main.go": "short\n", "a \u202eb.md": "other\n", "new.txt": "new\n"})
	b.get("/tasks/1/review").is(200).shows("Other open results change the same files", "/tasks/2/review", "in review", "main.go", "‹U+202E›")
	b.get("/tasks/2/review").is(200).shows("/tasks/1/review").hides(", new.txt")
	b.get("/api/tasks/2/results/1").is(200).shows(`"alsoChangedBy"`, `"taskId":"1"`, `"total":2`)
	b.get("/api/tasks/2").is(200).shows(`"alsoChangedBy"`)
}

func TestReviewShowsTheResult(t *testing.T) {
	t.Parallel()
	inst, b, _ := newReviewSite(t)
	page := b.get("/tasks/1/review").is(200)
	page.shows("Result 1", "in review", "<strong>done</strong>", "✓", "passed", "main.go", "gone.txt", "line twenty", "line 20",
		"1 more vote is needed, from any reviewer.", "Mark as viewed", "Accept result 1", "‹U+202E›",
		"Description of #1", "<em>better</em>", "Run one again", "Its project merges nothing").hides("\u202ete", "\u202eb.md<")
	b.get("/").shows("Results to review", "/tasks/1/review", "Change it")
	b.get("/tasks/1").shows("Results", "Waiting for review", "in review", "/tasks/1/checks/1")
	b.get("/tasks").shows("In review")
	b.get("/tasks/1/checks/1").is(200).shows("echo all is well", "passed")
	t.Run("side by side or unified, as the person prefers", func(t *testing.T) {
		page.shows(`class="difftable unified"`)
		b.get("/tasks/1/review?view=split").shows(`class="difftable split"`)
		b.post("/tasks/1/review/view", "view", "split").redirectsTo("/tasks/1/review").shows(`class="difftable split"`)
		b.post("/tasks/1/review/view", "view", "sideways").is(422)
		b.post("/tasks/1/review/view", "view", "").redirectsTo("/tasks/1/review").shows(`class="difftable unified"`)
	})
	t.Run("a viewed file stays viewed while it is unchanged", func(t *testing.T) {
		b.post("/tasks/1/review/viewed", "path", "main.go", "result", "1", "viewed", "true").redirectsTo("/tasks/1/review").
			shows(">Viewed<", "3 files, 1 viewed")
		inst.person("rita", task.RoleReviewer).get("/tasks/1/review").hides(">Viewed<")
		b.post("/tasks/1/review/viewed", "path", "main.go", "result", "1", "viewed", "false").redirectsTo("/tasks/1/review").hides(">Viewed<")
		b.post("/tasks/1/review/viewed", "path", "none.go", "result", "1", "viewed", "true").is(404)
	})
	t.Run("a person who may not decide gets no form", func(t *testing.T) {
		o := inst.person("otto", task.RoleOperator)
		o.get("/tasks/1/review").is(200).hides("Accept result")
		o.post("/tasks/1/review/accept", "result", "1").is(403)
		inst.person("vera", task.RoleViewer).get("/tasks/1/review").is(200).hides("Save draft", "Mark as viewed")
	})
	b.get("/tasks/1/review?result=7").is(404)
	b.get("/tasks/1/review/file?path=none.go").is(404)
	b.get("/tasks/1/review?since=9").is(200).shows("has no result 9")
}

func TestReviewCommentsWithoutScripts(t *testing.T) {
	t.Parallel()
	inst, b, repo := newReviewSite(t)
	file := "/tasks/1/review/file?path=main.go"
	t.Run("each line links to a form, and the draft is below the line", func(t *testing.T) {
		b.get("/tasks/1/review").shows(url.QueryEscape("main.go")+`&amp;result=1&amp;side=new&amp;line=21#c`, "side=old&amp;line=20#c")
		b.get(file+"&side=new&line=21").is(200).shows(`name="endLine"`, "Save draft")
		back := file + "&side=new&line=21"
		b.post("/tasks/1/review/comments", "path", "main.go", "side", "new", "line", "20", "endLine", "21", "text", "Say why.",
			"back", back).redirectsTo("/tasks/1/review/file?path=main.go").shows("Say why.", "Draft, only visible to you")
		b.get("/tasks/1/review").shows("Say why.", "Send 1 comment without")
		inst.person("rita", task.RoleReviewer).get("/tasks/1/review").hides("Say why.")
	})
	t.Run("an excerpt of the lines is stored", func(t *testing.T) {
		list, err := inst.svc.ReviewComments(t.Context(), mayaActor, 1)
		inst.ok(err)
		if len(list) != 1 || list[0].Excerpt != "line twenty\nand more\n" {
			t.Errorf("got %+v", list)
		}
	})
	t.Run("an error is shown with the typed text", func(t *testing.T) {
		b.post("/tasks/1/review/comments", "path", "main.go", "side", "new", "line", "9", "endLine", "3", "text", "Look here").is(422).shows(
			"Look here", "at most endLine")
		b.post("/tasks/1/review/comments", "text", " ").is(422).shows(`role="alert"`)
	})
	t.Run("a draft is edited and deleted", func(t *testing.T) {
		b.post("/tasks/1/review/comments/1", "text", "Say exactly why.").redirectsTo("/tasks/1/review").shows("Say exactly why.")
		b.post("/tasks/1/review/comments", "text", "Of all.").redirectsTo("/tasks/1/review").shows("Of all.", "Send 2 comments")
		b.post("/tasks/1/review/comments/2", "act", "delete", "text", "x").redirectsTo("/tasks/1/review").hides("Of all.")
	})
	t.Run("a request for changes sends the comments, and a new result shows their state", func(t *testing.T) {
		digest := b.get("/tasks/1/review").field("/tasks/1/review/request-changes", "digest")
		b.post("/tasks/1/review/request-changes", "result", "1", "digest", digest, "text", "Please.").redirectsTo("/tasks/1/review").shows(
			"changes requested", "Say exactly why.", ">Open<", "Resolve")
		b.get("/").hides("Results to review")
		b.post("/tasks/1/review/comments/1/reply", "text", "Fine now?").redirectsTo("/tasks/1/review").shows("Fine now?")
		inst.submitResult(repo, 1, "Again.", map[string]string{"main.go": "top\n" +
			strings.Replace(numbered("line", 40), "line 20\n", "line twenty\nand more\n", 1)})
		b.get("/tasks/1/review").shows("Result 2", "You reviewed result 1", "since=1", "lines 21–22").hides("Outdated")
		b.get("/tasks/1/review?since=1").shows("what changed since result 1", "1 file", "top").hides("gone.txt")
		b.get("/tasks/1/review?result=1").shows("not the newest result").hides("Save draft", "Accept result")
		inst.submitResult(repo, 1, "Once more.", map[string]string{"main.go": numbered("other", 40)})
		b.get("/tasks/1/review").shows("Outdated", "line twenty")
		b.post("/tasks/1/review/comments/1/reply", "state", "resolved").redirectsTo("/tasks/1/review").shows("Resolved", "Reopen")
	})
	t.Run("a file is unviewed after it changes", func(t *testing.T) {
		b.post("/tasks/1/review/viewed", "path", "main.go", "result", "3", "viewed", "true").is(303)
		b.post("/tasks/1/review/viewed", "path", "gone.txt", "result", "3", "viewed", "true").is(303)
		b.get("/tasks/1/review").shows("2 viewed")
		inst.submitResult(repo, 1, "Four.", map[string]string{"main.go": numbered("fourth", 40)})
		b.get("/tasks/1/review").shows("3 files, 1 viewed")
	})
}

func TestAcceptingRequiresTheReviewedResult(t *testing.T) {
	t.Parallel()
	inst, b, repo := newReviewSite(t)
	digest := b.get("/tasks/1/review").field("/tasks/1/review/accept", "digest")
	inst.submitResult(repo, 1, "Another summary.", map[string]string{"main.go": numbered("other", 3)})
	b.post("/tasks/1/review/accept", "result", "1", "digest", digest).is(409).shows(
		"You decided on result 1; the newest is result 2.", "The change is another one.", "The summary is another one.", "since=1", "other 3")
	b.post("/tasks/1/review/request-changes", "result", "2", "digest", digest, "text", "Why?").is(409).shows("Why?")
	now := b.get("/tasks/1/review").field("/tasks/1/review/accept", "digest")
	b.post("/tasks/1/review/request-changes", "result", "2", "digest", now, "text", " ").is(422).shows("Must not be blank")
	b.post("/tasks/1/review/accept", "result", "2", "digest", now, "text", "Fine.").redirectsTo("/tasks/1/review").shows("accepted", "Fine.")
	b.get("/tasks/1").shows("Done")
	b.get("/tasks/1/review").is(200).hides("Accept result", "Save draft", "Run one again")
	late := func(page string, pairs ...string) {
		b.post("/tasks/1/review/"+page, append(pairs, "result", "2", "text", "Typed too late.")...).is(409).shows(
			`role="alert"`, "What you typed", "Typed too late.")
	}
	late("request-changes", "digest", now)
	late("comments")
	late("comments", "path", "main.go", "side", "new", "line", "2", "endLine", "2")
}

func TestMergesOnPages(t *testing.T) {
	t.Parallel()
	inst := gitSite(t)
	b := inst.maya()
	repo := testgit.New(t, map[string]string{"a.txt": "a\n"})
	_, err := inst.svc.CreateProject(t.Context(), mayaActor, task.Project{Key: "web", Repository: repo.Dir, Merge: &task.Merge{}})
	inst.ok(err)
	inst.project("docs", "")
	b.get("/merges").is(200).shows("Nothing to merge")
	for range 2 {
		inst.newTask(mayaActor, task.New{Title: "Change it", Owner: "pull", Project: "web", Status: task.Active})
	}
	for id, text := range []string{"", "b\n", "c\n"} {
		if id == 0 {
			continue
		}
		r := inst.submitResult(repo, task.ID(id), "Done.", map[string]string{"a.txt": text})
		b.get(fmt.Sprintf("/tasks/%d/review", id)).shows("then merged into main, and the task is done")
		_, err := inst.svc.AcceptResult(t.Context(), mayaActor, task.ID(id), 1, r.Digest, "")
		inst.ok(err)
	}
	b.get("/merges").shows("Queued", "Change it", "Result 1", "/settings/projects/web")
	b.get("/merges?project=docs").hides("Change it")
	b.get("/tasks/1").shows("Waiting for its merge")
	b.get("/tasks").shows("Merging")
	for range 2 {
		if did, _, err := inst.svc.MergeNext(t.Context()); err != nil || !did {
			t.Fatalf("nothing was merged: %v", err)
		}
	}
	b.get("/merges").shows("Ended", ">merged<", ">failed<", "Conflict with the branch").hides("Queued")
	b.get("/tasks/1").shows("queued the merge of result 1 into main", "merged result 1 into main as")
	b.get("/merges?project=nothing").is(404)
}

// TestAReviewOf200FilesIsSmall checks the sizes of a large review. Its times depend on
// the machine.
func TestAReviewOf200FilesIsSmall(t *testing.T) {
	t.Parallel()
	testkit.OneGoroutine(t)
	inst := gitSite(t)
	b := inst.maya()
	repo := testgit.New(t, map[string]string{"a.txt": "a\n"})
	inst.project("web", repo.Dir)
	inst.newTask(mayaActor, task.New{Title: "Change it", Owner: "pull", Project: "web", Status: task.Active})
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("pkg%02d/some_longer_name_%03d.go", i/10, i)] = numbered(fmt.Sprintf("func f%d() { return }", i), 100)
	}
	inst.submitResult(repo, 1, "Much.", files)
	b.header.Set("Accept-Encoding", "gzip")
	page := b.get("/tasks/1/review").is(200)
	if n := len(page.body); n > 300<<10 {
		t.Errorf("got %d bytes compressed", n)
	}
	t.Logf("%d bytes uncompressed", len(page.body))
	b.header.Del("Accept-Encoding")
	for _, at := range []string{"/tasks/1/review", "/tasks/1/review/file?path=pkg19%2Fsome_longer_name_199.go", "/tasks/1/review?view=split"} {
		best := time.Hour
		for range 5 {
			begin := time.Now()
			b.get(at).is(200)
			best = min(best, time.Since(begin))
		}
		t.Logf("%s took %v", at, best)
	}
	page = b.get("/tasks/1/review").is(200).shows("200 files", "some_longer_name_199.go")
	if n := strings.Count(page.body, `class="difftable`); n < 2 || n > 12 {
		t.Errorf("got %d expanded files", n)
	}
}
