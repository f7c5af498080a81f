package e2e

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// taskBranch returns the branch of a task.
func taskBranch(tk *task.Task) string {
	return "taskyard/" + tk.ID.String() + "-" + task.Slug(tk.Title, 40)
}

// peopleWork leaves the tasks of coder to people, commits to main what the check of
// the project needs, and returns a clone.
func (srv *projectServer) peopleWork() (clone string) {
	srv.t.Helper()
	srv.file("agents/coder.md", "---\nname: coder\ndescription: For tests.\ntools: read\nrunner: none\n---\nWork.\n")
	srv.kill()
	srv.start()
	testkit.Git(srv.t, srv.repo, "checkout", "-q", "main")
	testkit.NoError(srv.t, os.WriteFile(filepath.Join(srv.repo, "greeting.txt"), []byte("hello\n"), 0o644))
	testkit.Git(srv.t, srv.repo, "add", "-A")
	testkit.Git(srv.t, srv.repo, "commit", "-qm", "Greet")
	clone = filepath.Join(srv.t.(*testing.T).TempDir(), "clone")
	testkit.Git(srv.t, filepath.Dir(clone), "clone", "-q", srv.repo, clone)
	return clone
}

// pushed pushes the branch of a task as people would, based on another branch and
// with these files.
func (srv *projectServer) pushed(clone string, tk *task.Task, from string, files map[string]string) {
	srv.t.Helper()
	branch := taskBranch(tk)
	testkit.Git(srv.t, clone, "checkout", "-qb", branch, "origin/"+from)
	for name, text := range files {
		testkit.NoError(srv.t, os.WriteFile(filepath.Join(clone, name), []byte(text), 0o644))
	}
	testkit.Git(srv.t, clone, "add", "-A")
	testkit.Git(srv.t, clone, "commit", "-qm", tk.Title)
	testkit.Git(srv.t, clone, "push", "-q", "origin", branch)
}

// handedIn creates a task of a person, whose branch has the files, and returns its
// result.
func (srv *projectServer) handedIn(clone, title string, files map[string]string) *task.Result {
	srv.t.Helper()
	tk := call[task.Task](srv.t, srv.person, "POST", "/api/tasks", map[string]any{"title": title, "owner": "coder", "project": "web"})
	srv.pushed(clone, &tk, "main", files)
	path := "/api/tasks/" + tk.ID.String()
	call[task.Task](srv.t, srv.person, "POST", path+"/complete", map[string]any{"summary": title})
	r := call[task.Result](srv.t, srv.person, "GET", path+"/results/1", nil)
	return &r
}

// TestMergesSurviveKills kills the server at random moments while it merges and a
// reviewer writes comments: main only ever contains complete, checked changes, each
// once; of two that conflict, one is returned; and no acknowledged comment is
// lost.
func TestMergesSurviveKills(t *testing.T) {
	t.Parallel()
	tasks, maxKills := testkit.ByForm(4, 6, max(6, testkit.Trials())), testkit.ByForm(8, 25, testkit.Trials())
	srv := newProjectServer(t, changingArg)
	clone := srv.peopleWork()

	discussed := srv.handedIn(clone, "Discussed", map[string]string{"discussed.txt": "words\n"})
	var results []*task.Result
	for i := range tasks {
		files := map[string]string{fmt.Sprintf("part-%d.txt", i): "a part\n"}
		if i < 2 {
			files["shared.txt"] = fmt.Sprintf("by %d\n", i)
		}
		results = append(results, srv.handedIn(clone, fmt.Sprintf("Part %d", i), files))
	}
	for _, r := range results {
		call[task.Task](t, srv.person, "POST", "/api/tasks/"+r.TaskID.String()+"/results/1/accept", map[string]any{"digest": r.Digest})
	}

	reviewer := srv.reviewing(discussed.TaskID)
	kills := 0
	for ; kills < maxKills && srv.rows("SELECT count(*) FROM merges WHERE ended_at IS NULL")[0] != "0"; kills++ {
		for range 1 + rand.IntN(80) { // after this many responses
			<-reviewer.heard
		}
		srv.kill()
		if got := testkit.Git(t, srv.repo, "show", "main:greeting.txt"); got != "hello" {
			t.Fatalf("after kill %d, main contains %q", kills, got)
		}
		srv.start()
	}
	reviewer.stop()
	testkit.Eventually(t, "the queue is empty", func() bool {
		return srv.rows("SELECT count(*) FROM merges WHERE ended_at IS NULL")[0] == "0"
	})
	t.Logf("%d kills, %d comments", kills, len(reviewer.said))

	merged := srv.rows("SELECT task_id FROM merges WHERE state = 'merged' ORDER BY task_id")
	if failed := srv.rows("SELECT code FROM merges WHERE state = 'failed'"); len(merged) != tasks-1 ||
		!slices.Equal(failed, []string{"merge_conflict"}) {
		t.Errorf("got merged %v, failed %v", merged, failed)
	}
	onMain := strings.Fields(testkit.Git(t, srv.repo, "log", "--format=%(trailers:key=Taskyard-Task,valueonly)", "main"))
	slices.Sort(onMain)
	slices.Sort(merged)
	if !slices.Equal(onMain, merged) {
		t.Errorf("main contains the tasks %v, merged are %v", onMain, merged)
	}
	if got := testkit.Git(t, srv.repo, "status", "--porcelain"); got != "" {
		t.Errorf("the work tree is not clean:\n%s", got)
	}
	testkit.Git(t, srv.repo, "fsck", "--no-dangling")
	err := filepath.WalkDir(filepath.Join(srv.repo, ".git"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") {
			t.Errorf("a lock was left: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	reviewer.keptAll()
}

// reviewer keeps commenting on a line of a task's result, and submits ten comments
// at a time.
type reviewer struct {
	y     *projectServer
	task  string        // where its comments are
	said  []string      // acknowledged
	heard chan struct{} // after each call, with or without a response
	over  chan struct{}
	wg    sync.WaitGroup
}

// maxSaid is the number of comments after which it only reads them.
const maxSaid = 900

func (srv *projectServer) reviewing(id task.ID) *reviewer {
	r := &reviewer{
		y: srv, task: "/api/tasks/" + id.String() + "/review-comments",
		heard: make(chan struct{}), over: make(chan struct{}),
	}
	r.wg.Go(func() {
		for i := 0; ; i++ {
			r.act(i)
			select {
			case r.heard <- struct{}{}:
			case <-r.over:
				return
			}
		}
	})
	return r
}

func (r *reviewer) act(i int) {
	ctx, text := r.y.t.Context(), fmt.Sprintf("comment %d", i)
	switch {
	case len(r.said) == maxSaid:
		_ = r.y.person.Do(ctx, "GET", r.task, nil, nil)
	case i%11 == 10:
		_ = r.y.person.Do(ctx, "POST", r.task+"/submit", map[string]any{}, nil)
	case r.y.person.Do(ctx, "POST", r.task, map[string]any{"path": "discussed.txt", "line": 1, "text": text}, nil) == nil:
		r.said = append(r.said, text)
	}
}

func (r *reviewer) stop() {
	close(r.over)
	r.wg.Wait()
}

// keptAll fails the test if an acknowledged comment does not exist exactly
// once.
func (r *reviewer) keptAll() {
	t := r.y.t
	t.Helper()
	kept := map[string]int{}
	for _, c := range call[struct{ Comments []task.ReviewComment }](t, r.y.person, "GET", r.task, nil).Comments {
		kept[c.Text]++
	}
	for _, text := range r.said {
		if kept[text] != 1 {
			t.Errorf("got the acknowledged comment %q %d times", text, kept[text])
		}
	}
}

// TestNoKillLosesAComment repeatedly kills the server after a few responses to a
// reviewer: acknowledged drafts and submitted comments exist, each exactly
// once.
func TestNoKillLosesAComment(t *testing.T) {
	t.Parallel()
	srv := newProjectServer(t, changingArg)
	clone := srv.peopleWork()
	said := 0
	for kills, maxKills := 0, testkit.ByForm(5, 25, testkit.Trials()); kills < maxKills; {
		files := map[string]string{"discussed.txt": "words\n"}
		r := srv.reviewing(srv.handedIn(clone, fmt.Sprintf("Discussed after %d kills", kills), files).TaskID)
		for range min(100, maxKills-kills) {
			kills++
			for range 1 + rand.IntN(8) {
				<-r.heard
			}
			srv.kill()
			srv.start()
		}
		r.stop()
		r.keptAll()
		said += len(r.said)
	}
	t.Logf("%d comments", said)
}
