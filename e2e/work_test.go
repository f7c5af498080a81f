package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// worktreeServer is a server whose agent coder works in worktrees of a repository.
type worktreeServer struct {
	*server
	person *client.Client
	repo   string
	goFile string // the agent waits for it
}

const treeAgent = `cat >/dev/null
printf 'from run %%s\n' "$TASKYARD_RUN_ID" >> notes.md
printf 'secret %%s\n' "$TASKYARD_TOKEN" > leak.txt
echo wrote
while [ ! -e "%s" ]; do sleep 0.05; done
printf 'two\n' > a.txt
echo '{"summary":"done","success":true}'
`

func newWorktreeServer(t *testing.T) *worktreeServer {
	t.Helper()
	repo := testkit.Repository(t, map[string]string{"a.txt": "one\n"})
	srv := &worktreeServer{server: newServer(t, "serve"), repo: repo, goFile: filepath.Join(t.TempDir(), "go")}
	script := put(t, filepath.Join(t.TempDir(), "agent.sh"), fmt.Sprintf(treeAgent, srv.goFile))
	srv.file("taskyard.toml", fmt.Sprintf("[runners.script]\nkind = \"command\"\ncommand = [\"/bin/sh\", %q]\nworkspace = %q\n",
		script, "worktree:"+srv.repo))
	srv.file("agents/coder.md", "---\nname: coder\ndescription: Writes.\ntools: read, edit\nrunner: script\n---\nWork.\n")
	srv.file("agents/lost.md", "---\nname: lost\ndescription: Has no repository.\ntools: read, "+
		"edit\nrunner: script\nworkspace: worktree:/nowhere/at/all\n---\nWork.\n")
	srv.file("agents/alone.md", "---\nname: alone\ndescription: Has a repository.\ntools: read, edit\nrunner: script\nworkspace: "+
		t.TempDir()+"\n---\nWork.\n")
	srv.start()
	srv.person = srv.api(srv.token("--scope", "operate"))
	return srv
}

func (srv *worktreeServer) git(args ...string) string { return testkit.Git(srv.t, srv.repo, args...) }

// ask creates a task and waits until its run has written.
func (srv *worktreeServer) ask(owner string) task.Task {
	srv.t.Helper()
	tk := call[task.Task](srv.t, srv.person, "POST", "/api/tasks", map[string]any{"title": "Write", "owner": owner})
	return tk
}

// runWork is an answer about a run.
type runWork struct {
	task.Run
	Files                 []task.FileChange
	Branch, Repository    string
	FilesNote, WorkFolder string
}

// await waits until a run of a task is in a state and its changes are reported.
func (srv *worktreeServer) await(tk task.Task, state string) runWork {
	srv.t.Helper()
	var id string
	testkit.Eventually(srv.t, "a run is "+state, func() bool {
		list := srv.rows("SELECT id FROM runs WHERE task_id = ? AND status || '/' || phase = ? ORDER BY id DESC", tk.ID, state)
		if len(list) > 0 {
			id = list[0]
		}
		return len(list) > 0
	})
	if state != "running/working" && !strings.HasSuffix(state, "error") {
		testkit.Eventually(srv.t, "its changes are reported",
			func() bool { return srv.rows("SELECT count(*) FROM run_work WHERE run_id = ?", id)[0] == "1" })
	}
	return call[runWork](srv.t, srv.person, "GET", "/api/runs/"+id, nil)
}

// awaitWrite waits until a running run has written.
func (srv *worktreeServer) awaitWrite(id task.ID) {
	srv.t.Helper()
	testkit.Eventually(srv.t, "the agent wrote", func() bool {
		return srv.rows("SELECT count(*) FROM messages WHERE run_id = ? AND content = 'wrote'", id)[0] != "0"
	})
}

func (srv *worktreeServer) release() {
	put(srv.t, srv.goFile, "")
}

func (f runWork) list() string {
	var list []string
	for _, c := range f.Files {
		list = append(list, fmt.Sprintf("%s %s +%d-%d", c.Change, c.Path, c.Added, c.Removed))
	}
	return strings.Join(list, ", ")
}

func TestChangesOfARunAreShown(t *testing.T) {
	t.Parallel()
	srv := newWorktreeServer(t)
	srv.release()
	t.Run("a missing repository is a permanent failure, with its reason", func(t *testing.T) {
		r := srv.await(srv.ask("lost"), "failed/error")
		if !strings.Contains(r.Reason, "there is no such folder") || srv.rows("SELECT count(*) FROM runs WHERE task_id = ?", r.TaskID)[0] != "1" {
			t.Errorf("got reason %q, runs %v", r.Reason, srv.rows("SELECT count(*) FROM runs WHERE task_id = ?", r.TaskID))
		}
	})
	t.Run("in its own folder", func(t *testing.T) {
		if got := srv.await(srv.ask("alone"), "completed/ended").list(); got != "added a.txt +1-0, added leak.txt +1-0, added notes.md +1-0" {
			t.Errorf("got files %s", got)
		}
	})
	r := srv.await(srv.ask("coder"), "completed/ended")
	t.Run("in a worktree, with its branch", func(t *testing.T) {
		if got := r.list(); got != "modified a.txt +1-1, added leak.txt +1-0, added notes.md +1-0" ||
			r.Branch != "taskyard/run-"+r.ID.String() || r.Repository != srv.repo {
			t.Errorf("got files %s, branch %q of %q", got, r.Branch, r.Repository)
		}
		if got := srv.git("show", r.Branch+":notes.md"); got != "from run "+r.ID.String() {
			t.Errorf("got notes.md on the branch as %q", got)
		}
	})
	t.Run("the command line shows them, too", func(t *testing.T) {
		sh := &shell{t, map[string]string{"TASKYARD_URL": srv.url(), "TASKYARD_TOKEN": srv.person.Token}}
		wants(t, sh.ok("", "run", "show", r.ID.String()), "Changed files", "modified", "notes.md", "taskyard/run-"+r.ID.String(), srv.repo)
	})
	t.Run("the diff hides the token of the run", func(t *testing.T) {
		diff := answerTo(t, http.DefaultClient,
			newRequest(t.Context(), http.MethodGet, srv.url()+"/api/runs/"+r.ID.String()+"/diff", srv.person.Token, ""))
		kind := diff.header.Get("Content-Type")
		if !strings.Contains(diff.body, "+secret [redacted]\n") || strings.Contains(diff.body, "ty_") || !strings.HasPrefix(kind, "text/x-diff") {
			t.Errorf("%s\n%s", kind, diff.body)
		}
	})
	t.Run("nothing else in the repository is changed", func(t *testing.T) {
		if got := srv.git("status", "--porcelain") + srv.git("worktree", "list", "--porcelain"); strings.Count(got, "worktree ") != 1 ||
			!strings.HasPrefix(got, "worktree ") {
			t.Errorf("%s", got)
		}
	})
}

func TestChangesOfAnInterruptedRunAreKept(t *testing.T) {
	t.Parallel()
	srv := newWorktreeServer(t)
	t.Run("the changes of a canceled run are kept and reported", func(t *testing.T) {
		r := srv.await(srv.ask("coder"), "running/working")
		srv.awaitWrite(r.ID)
		call[task.Run](t, srv.person, "POST", "/api/runs/"+r.ID.String()+"/cancel", nil)
		got := srv.await(task.Task{ID: r.TaskID}, "canceled/by")
		if got.list() != "added leak.txt +1-0, added notes.md +1-0" || got.Branch == "" {
			t.Errorf("got files %s, branch %q, note %q", got.list(), got.Branch, got.FilesNote)
		}
	})
	tk := srv.ask("coder")
	first := srv.await(tk, "running/working")
	srv.awaitWrite(first.ID)
	srv.kill()
	srv.start()
	second := srv.await(tk, "running/working")
	t.Run("the changes of a run whose server was killed are kept and reported", func(t *testing.T) {
		got := srv.await(tk, "failed/lost")
		if got.ID != first.ID || got.list() != "added leak.txt +1-0, added notes.md +1-0" || got.Branch != "taskyard/run-"+first.ID.String() {
			t.Errorf("run %d: got files %s, branch %q, note %q", got.ID, got.list(), got.Branch, got.FilesNote)
		}
	})
	t.Run("its retry continues on the branch, and reports its own part", func(t *testing.T) {
		srv.awaitWrite(second.ID)
		srv.release()
		got := srv.await(tk, "completed/ended")
		if got.ID != second.ID || got.list() != "modified a.txt +1-1, modified leak.txt +1-1, modified notes.md +1-0" ||
			got.Branch != "taskyard/run-"+first.ID.String() {
			t.Errorf("run %d: got files %s, branch %q", got.ID, got.list(), got.Branch)
		}
		want := fmt.Sprintf("Taskyard run %d\nTaskyard run %d\nfirst", second.ID, first.ID)
		if log := srv.git("log", "--format=%s", got.Branch); log != want {
			t.Errorf("got log %q, want %q", log, want)
		}
	})
	t.Run("a run that a server stop interrupted continues in the same folder, and reports everything", func(t *testing.T) {
		testkit.NoError(t, os.Remove(srv.goFile))
		tk := srv.ask("coder")
		r := srv.await(tk, "running/working")
		srv.awaitWrite(r.ID)
		srv.term()
		srv.release()
		srv.start()
		got := srv.await(tk, "completed/ended")
		if got.ID != r.ID || got.list() != "modified a.txt +1-1, added leak.txt +1-0, added notes.md +2-0" {
			t.Errorf("run %d: got files %s", got.ID, got.list())
		}
	})
}

func TestAWorkerReportsWhatARunChanged(t *testing.T) {
	t.Parallel()
	srv := newWorkerServer(t)
	put(t, srv.script, "cat >/dev/null; printf 'one\\n' > a.txt; echo '{\"summary\":\"done\",\"success\":true}'")
	srv.work("--labels", "gpu")
	srv.await(srv.create().ID, "completed|ended|1|1")
	if got := srv.rows("SELECT path, change, added, diff FROM run_files"); len(got) != 1 || got[0] != "a.txt|added|1|@@ -0,0 +1 @@\n+one\n" {
		t.Errorf("got files %q", got)
	}
}
