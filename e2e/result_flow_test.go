package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// changingArg makes this binary an agent that changes a file in the worktree of its
// task: first wrongly, then as the check and the reviewers want it.
const changingArg = "changing-agent"

func changingMain() int {
	ctx := context.Background()
	api := &client.Client{URL: os.Getenv("TASKYARD_URL"), Token: os.Getenv("TASKYARD_TOKEN"), HTTP: &http.Client{Timeout: patience}}
	own := "/api/tasks/" + os.Getenv("TASKYARD_TASK_ID")
	fail := func(err error) int {
		fmt.Println("failed:", err)
		return 1
	}
	var tk task.Task
	if err := api.Do(ctx, "GET", own, nil, &tk); err != nil {
		return fail(err)
	}
	complete := func(text string) error {
		if err := os.WriteFile("greeting.txt", []byte(text), 0o644); err != nil {
			return err
		}
		return api.Do(ctx, "POST", own+"/complete", map[string]any{"summary": "The greeting is written."}, nil)
	}
	if tk.Review == nil || len(tk.Review.Comments) == 0 {
		err := complete("helo\nworld\n")
		if err == nil || !strings.Contains(err.Error(), "the required check test") || !strings.Contains(err.Error(), "no greeting") {
			return fail(fmt.Errorf("for a failed check, got %w", err))
		}
		fmt.Println("the check refused it:", err)
		if err := complete("hello\nworld\n"); err != nil {
			return fail(err)
		}
		fmt.Println("handed in")
		return 0
	}
	for _, c := range tk.Review.Comments {
		if c.Path != "greeting.txt" || c.Excerpt == "" {
			return fail(fmt.Errorf("a comment without its position: %+v", c))
		}
		body := map[string]any{"state": "fixed", "text": "Done: " + c.Text}
		if err := api.Do(ctx, "POST", fmt.Sprintf("%s/review-comments/%d/reply", own, c.ID), body, nil); err != nil {
			return fail(err)
		}
	}
	if err := complete("Hello\nWorld\n"); err != nil {
		return fail(err)
	}
	return 0
}

// projectServer is a server with a project of a real repository, and an agent coder
// whose program is this binary.
type projectServer struct {
	*server
	repo   string
	person *client.Client // maya, who set it up, with her own token
}

// projectBody returns the project that tests change and send.
func projectBody(repo string) map[string]any {
	check := map[string]any{"name": "test", "run": "grep -qi hello greeting.txt || { echo no greeting; exit 3; }", "required": true}
	return map[string]any{
		"key": "web", "name": "Web", "repository": repo, "checks": []any{check},
		"merge": map[string]any{"checks": []any{check}},
	}
}

// newRepo returns a repository with one commit on main.
func newRepo(t *testing.T) string {
	t.Helper()
	return testkit.Repository(t, map[string]string{"README.md": "Says hello.\n"})
}

func newProjectServer(t *testing.T, agentArg string) *projectServer {
	t.Helper()
	srv := &projectServer{server: newServer(t, "serve"), repo: newRepo(t)}
	self := testBinary(t)
	srv.file("taskyard.toml", fmt.Sprintf("[runners.coder]\nkind = \"command\"\ncommand = [%q, %q]\n[checks]\naccept_weaker = true\n",
		self, agentArg))
	srv.file("agents/coder.md", "---\nname: coder\ndescription: For tests.\ntools: read, edit, bash\nrunner: coder\n---\nWork.\n")
	srv.start()
	srv.person = srv.api(srv.firstAdmin())
	call[task.Project](t, srv.person, "POST", "/api/projects", projectBody(srv.repo))
	return srv
}

// signedIn sets the instance up for maya, with the link in the first line, and
// returns her browser.
func (s *server) signedIn() *browser {
	s.t.Helper()
	b := newBrowser(s.t)
	b.setUp(s.first, s.url())
	return b
}

// firstAdmin sets the instance up for maya and returns her own token.
func (s *server) firstAdmin() string {
	s.t.Helper()
	return s.ownToken(s.signedIn())
}

// ownToken creates a token of the person who is signed in with a browser.
func (s *server) ownToken(b *browser) string {
	s.t.Helper()
	req := newRequest(s.t.Context(), http.MethodPost, s.url()+"/api/tokens", "", `{"name":"own","scope":"admin","own":true}`)
	req.Header.Set("Origin", s.url())
	r := answerTo(s.t, b.c, req)
	var made struct{ Secret string }
	if err := json.Unmarshal([]byte(r.body), &made); err != nil || made.Secret == "" {
		s.t.Fatalf("for a personal token, got status %d, %v", r.status, err)
	}
	return made.Secret
}

// awaits waits until a task meets a condition, and returns it.
func (srv *projectServer) awaits(id task.ID, what string, fits func(*task.Task) bool) *task.Task {
	srv.t.Helper()
	var tk task.Task
	testkit.Eventually(srv.t, "task "+id.String()+" "+what, func() bool {
		tk = call[task.Task](srv.t, srv.person, "GET", "/api/tasks/"+id.String(), nil)
		return fits(&tk)
	})
	return &tk
}

func inReview(number int) func(*task.Task) bool {
	return func(tk *task.Task) bool {
		return tk.WaitingFor == task.WaitsReview && tk.Review != nil && tk.Review.Result == number
	}
}

func TestFromATaskToAMergedChange(t *testing.T) {
	t.Parallel()
	srv := newProjectServer(t, changingArg)
	tk := call[task.Task](t, srv.person, "POST", "/api/tasks", map[string]any{"title": "Write a greeting", "owner": "coder", "project": "web"})
	path := "/api/tasks/" + tk.ID.String()

	srv.awaits(tk.ID, "in review", inReview(1))
	checks := call[struct{ Checks []task.CheckRun }](t, srv.person, "GET", path+"/checks", nil).Checks
	if len(checks) != 2 || checks[1].Verdict != task.CheckFailed || checks[1].ExitCode != 3 || checks[0].Verdict != task.CheckPassed {
		t.Fatalf("got the checks %s", asJSON(checks))
	}
	log := call[task.CheckRun](t, srv.person, "GET", path+"/checks/"+checks[1].ID.String(), nil)
	if log.Log != "no greeting\n" || log.LogSHA256 == "" || log.Level == "" {
		t.Errorf("got the log of the failed check %s", asJSON(log))
	}
	first := call[task.Result](t, srv.person, "GET", path+"/results/1", nil)
	diff := call[struct {
		Files []struct{ Path, Hunks string }
	}](t, srv.person, "GET", path+"/results/1/diff?path=greeting.txt", nil)
	if len(diff.Files) != 1 || diff.Files[0].Hunks != "@@ -0,0 +1,2 @@\n+hello\n+world\n" {
		t.Fatalf("got the diff %s", asJSON(diff))
	}
	for line, text := range map[int]string{1: "Begin with a capital.", 2: "This one too."} {
		call[task.ReviewComment](t, srv.person, "POST", path+"/review-comments", map[string]any{
			"path": "greeting.txt", "line": line, "excerpt": []string{"hello", "world"}[line-1], "text": text,
		})
	}
	call[task.Task](t, srv.person, "POST", path+"/results/1/request-changes", map[string]any{"digest": first.Digest, "text": "Nearly."})

	srv.awaits(tk.ID, "in review again", inReview(2))
	comments := call[struct{ Comments []task.ReviewComment }](t, srv.person, "GET", path+"/review-comments", nil).Comments
	for _, c := range comments {
		if c.State != task.CommentFixed || !c.Outdated || len(c.Replies) != 1 {
			t.Errorf("got the comment %s", asJSON(c))
		}
	}
	second := call[task.Result](t, srv.person, "GET", path+"/results/2", nil)
	if second.Digest == first.Digest {
		t.Error("another change has the same digest")
	}
	since := call[struct {
		Files []struct{ Path, Hunks string }
	}](t, srv.person, "GET", path+"/results/2/diff?since=1&path=greeting.txt", nil)
	if !strings.Contains(since.Files[0].Hunks, "-hello") || !strings.Contains(since.Files[0].Hunks, "+Hello") {
		t.Errorf("got the changes since the first result %s", asJSON(since))
	}
	if got := testkit.Git(t, srv.repo, "log", "-1", "--format=%s", "main"); got != "first" {
		t.Fatalf("main moved before anybody accepted: %s", got)
	}
	if err := srv.person.Do(t.Context(), "POST", path+"/results/2/accept", map[string]any{"digest": first.Digest}, nil); err == nil {
		t.Fatal("another digest was accepted")
	}
	call[task.Task](t, srv.person, "POST", path+"/results/2/accept", map[string]any{"digest": second.Digest})

	done := srv.awaits(tk.ID, "done", func(tk *task.Task) bool { return tk.Status == task.Done })
	if done.Summary != "The greeting is written." {
		t.Errorf("got the summary %q", done.Summary)
	}
	if got := testkit.Git(t, srv.repo, "show", "main:greeting.txt"); got != "Hello\nWorld" {
		t.Errorf("main contains %q", got)
	}
	if b, err := os.ReadFile(filepath.Join(srv.repo, "greeting.txt")); err != nil || string(b) != "Hello\nWorld\n" {
		t.Errorf("the work tree of the repository contains %q, %v", b, err)
	}
	if got := testkit.Git(t, srv.repo, "status", "--porcelain"); got != "" {
		t.Errorf("the work tree is not clean: %s", got)
	}
	message := testkit.Git(t, srv.repo, "log", "-1", "--format=%an%n%B", "main")
	wants(t, message, "coder", "Write a greeting", "Taskyard-Result: 2 "+second.Digest, "Accepted-by: maya")
	merges := call[struct{ Ended []task.MergeEntry }](t, srv.person, "GET", "/api/merges?project=web", nil).Ended
	if len(merges) != 1 || merges[0].State != task.MergeDone || merges[0].After != testkit.Git(t, srv.repo, "rev-parse", "main") {
		t.Errorf("got the merges %s", asJSON(merges))
	}
	testkit.Eventually(t, "the worktree of the task is removed, after the task is done", func() bool {
		return strings.Count(testkit.Git(t, srv.repo, "worktree", "list", "--porcelain"), "worktree ") == 1
	})
	for _, run := range srv.rows("SELECT id, status, phase, reason FROM runs") {
		if !strings.Contains(run, "|completed|ended|") { // although the last one had not quite ended when its result was accepted
			t.Errorf("got the run %s", run)
		}
	}
	kinds := srv.rows("SELECT kind FROM events WHERE task_id = ? AND kind GLOB '[rm]e*'", int64(tk.ID))
	for _, want := range []string{
		"result.created", "result.changes_requested", "result.comment_answered", "result.accepted", "merge.queued", "merge.done",
	} {
		if !slices.Contains(kinds, want) {
			t.Errorf("there is no event %s among %v", want, kinds)
		}
	}
}

// TestASubtaskIsPartOfTheResultOfItsParent: the branch of a subtask starts at that of
// its parent, is checked, and is merged back without its own review. Only the result
// of the parent reaches main.
func TestASubtaskIsPartOfTheResultOfItsParent(t *testing.T) {
	t.Parallel()
	srv := newProjectServer(t, changingArg)
	srv.file("agents/coder.md", "---\nname: coder\ndescription: For tests.\ntools: read\nrunner: none\n---\nWork.\n")
	srv.kill()
	srv.start()
	clone := filepath.Join(t.TempDir(), "clone")
	testkit.Git(t, filepath.Dir(clone), "clone", "-q", srv.repo, clone)
	parent := call[task.Task](t, srv.person, "POST", "/api/tasks", map[string]any{
		"title": "Greet the world", "owner": "coder", "project": "web", "steps": []any{map[string]any{"title": "Name it"}},
	})
	srv.pushed(clone, &parent, "main", map[string]string{"greeting.txt": "hello\n"})
	path := "/api/tasks/" + parent.ID.String()
	call[any](t, srv.person, "POST", path+"/steps/0/subtask", map[string]any{"title": "Name the world", "owner": "coder"})
	sub := call[task.Task](t, srv.person, "GET", "/api/tasks/"+(parent.ID+1).String(), nil)
	if sub.Project != "web" || sub.ParentTaskID != parent.ID {
		t.Fatalf("got the subtask %s", asJSON(sub))
	}
	srv.pushed(clone, &sub, taskBranch(&parent), map[string]string{"world.txt": "world\n"})
	call[task.Task](t, srv.person, "POST", "/api/tasks/"+sub.ID.String()+"/complete", map[string]any{"summary": "Named."})
	srv.awaits(sub.ID, "done", func(tk *task.Task) bool { return tk.Status == task.Done })
	if got := testkit.Git(t, srv.repo, "show", taskBranch(&parent)+":world.txt"); got != "world" {
		t.Errorf("the parent's branch contains %q", got)
	}
	if got := testkit.Git(t, srv.repo, "log", "-1", "--format=%s", "main"); got != "first" {
		t.Errorf("main moved with a subtask: %s", got)
	}
	call[task.Task](t, srv.person, "POST", path+"/complete", map[string]any{"summary": "Greeted."})
	r := call[task.Result](t, srv.person, "GET", path+"/results/1", nil)
	files := call[struct{ Files []struct{ Path string } }](t, srv.person, "GET", path+"/results/1/diff", nil).Files
	if len(files) != 2 {
		t.Errorf("got the changed files %s", asJSON(files))
	}
	call[task.Task](t, srv.person, "POST", path+"/results/1/accept", map[string]any{"digest": r.Digest})
	srv.awaits(parent.ID, "done", func(tk *task.Task) bool { return tk.Status == task.Done })
	if got := testkit.Git(t, srv.repo, "ls-tree", "--name-only", "main"); got != "README.md\ngreeting.txt\nworld.txt" {
		t.Errorf("main contains %q", got)
	}
}
