package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
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
	repo := newRepository(t, map[string]string{"a.txt": "one\n"})
	y := &worktreeServer{server: newServer(t, "serve"), repo: repo, goFile: filepath.Join(t.TempDir(), "go")}
	script := filepath.Join(t.TempDir(), "agent.sh")
	if err := os.WriteFile(script, fmt.Appendf(nil, treeAgent, y.goFile), 0o700); err != nil {
		t.Fatal(err)
	}
	y.file("taskyard.toml", fmt.Sprintf("[runners.script]\nkind = \"command\"\ncommand = [\"/bin/sh\", %q]\nworkspace = %q\n",
		script, "worktree:"+y.repo))
	y.file("agents/coder.md", "---\nname: coder\ndescription: Writes.\ntools: read, edit\nrunner: script\n---\nWork.\n")
	y.file("agents/lost.md", "---\nname: lost\ndescription: Has no repository.\ntools: read, "+
		"edit\nrunner: script\nworkspace: worktree:/nowhere/at/all\n---\nWork.\n")
	y.file("agents/alone.md", "---\nname: alone\ndescription: Has a repository.\ntools: read, edit\nrunner: script\nworkspace: "+
		t.TempDir()+"\n---\nWork.\n")
	y.start()
	y.person = y.api(y.token("--scope", "operate"))
	return y
}

func (y *worktreeServer) git(args ...string) string { return gitIn(y.t, y.repo, args...) }

// newRepository makes a repository with one commit of these files.
func newRepository(t testing.TB, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	repo := t.TempDir()
	gitIn(t, repo, "init", "-q", "-b", "main")
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gitIn(t, repo, "add", "-A")
	gitIn(t, repo, "-c", "user.name=M", "-c", "user.email=m@example.org", "commit", "-q", "-m", "first")
	return repo
}

func gitIn(t testing.TB, repo string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// ask makes a task and waits until its run has written.
func (y *worktreeServer) ask(owner string) task.Task {
	y.t.Helper()
	tk := call[task.Task](y.t, y.person, "POST", "/api/tasks", map[string]any{"title": "Write", "owner": owner})
	return tk
}

// told is an answer about a run.
type told struct {
	task.Run
	Files                 []task.FileChange
	Branch, Repository    string
	FilesNote, WorkFolder string
}

// await waits for a run of a task in a state, and until its work is told.
func (y *worktreeServer) await(tk task.Task, state string) told {
	y.t.Helper()
	var id string
	testkit.Eventually(y.t, "a run is "+state, func() bool {
		list := y.rows("SELECT id FROM runs WHERE task_id = ? AND status || '/' || phase = ? ORDER BY id DESC", tk.ID, state)
		if len(list) > 0 {
			id = list[0]
		}
		return len(list) > 0
	})
	if state != "running/working" && !strings.HasSuffix(state, "error") {
		testkit.Eventually(y.t, "its work is told",
			func() bool { return y.rows("SELECT count(*) FROM run_work WHERE run_id = ?", id)[0] == "1" })
	}
	return call[told](y.t, y.person, "GET", "/api/runs/"+id, nil)
}

// wrote waits until a running run has written.
func (y *worktreeServer) wrote(id task.ID) {
	y.t.Helper()
	testkit.Eventually(y.t, "the agent wrote", func() bool {
		return y.rows("SELECT count(*) FROM messages WHERE run_id = ? AND content = 'wrote'", id)[0] != "0"
	})
}

func (y *worktreeServer) letGo() {
	if err := os.WriteFile(y.goFile, nil, 0o600); err != nil {
		y.t.Fatal(err)
	}
}

func (f told) list() string {
	var list []string
	for _, c := range f.Files {
		list = append(list, fmt.Sprintf("%s %s +%d-%d", c.Change, c.Path, c.Added, c.Removed))
	}
	return strings.Join(list, ", ")
}

func TestWhatARunChangedIsSeen(t *testing.T) {
	t.Parallel()
	y := newWorktreeServer(t)
	y.letGo()
	t.Run("a repository that is not there is a failure for good, with its reason", func(t *testing.T) {
		r := y.await(y.ask("lost"), "failed/error")
		if !strings.Contains(r.Reason, "there is no such folder") || y.rows("SELECT count(*) FROM runs WHERE task_id = ?", r.TaskID)[0] != "1" {
			t.Errorf("reason %q, runs %v", r.Reason, y.rows("SELECT count(*) FROM runs WHERE task_id = ?", r.TaskID))
		}
	})
	t.Run("in a folder of its own", func(t *testing.T) {
		if got := y.await(y.ask("alone"), "completed/ended").list(); got != "added a.txt +1-0, added leak.txt +1-0, added notes.md +1-0" {
			t.Errorf("files %s", got)
		}
	})
	r := y.await(y.ask("coder"), "completed/ended")
	t.Run("in a worktree, with the branch that holds it", func(t *testing.T) {
		if got := r.list(); got != "modified a.txt +1-1, added leak.txt +1-0, added notes.md +1-0" ||
			r.Branch != "taskyard/run-"+r.ID.String() || r.Repository != y.repo {
			t.Errorf("files %s, branch %q of %q", got, r.Branch, r.Repository)
		}
		if got := y.git("show", r.Branch+":notes.md"); got != "from run "+r.ID.String() {
			t.Errorf("notes.md on the branch is %q", got)
		}
	})
	t.Run("the command line tells them, too", func(t *testing.T) {
		sh := &shell{t, map[string]string{"TASKYARD_URL": y.url(), "TASKYARD_TOKEN": y.person.Token}}
		wants(t, sh.ok("", "run", "show", r.ID.String()), "Changed files", "modified", "notes.md", "taskyard/run-"+r.ID.String(), y.repo)
	})
	t.Run("the diff hides the token of the run", func(t *testing.T) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", y.url()+"/api/runs/"+r.ID.String()+"/diff", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+y.person.Token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(text); !strings.Contains(got, "+secret [redacted]\n") || strings.Contains(got, "ty_") ||
			!strings.HasPrefix(res.Header.Get("Content-Type"), "text/x-diff") {
			t.Errorf("%s\n%s", res.Header.Get("Content-Type"), got)
		}
	})
	t.Run("nothing else in the repository is touched", func(t *testing.T) {
		if got := y.git("status", "--porcelain") + y.git("worktree", "list", "--porcelain"); strings.Count(got, "worktree ") != 1 ||
			!strings.HasPrefix(got, "worktree ") {
			t.Errorf("%s", got)
		}
	})
}

func TestWorkOfARunThatDidNotEndWell(t *testing.T) {
	t.Parallel()
	y := newWorktreeServer(t)
	t.Run("that of a canceled run is kept and told", func(t *testing.T) {
		r := y.await(y.ask("coder"), "running/working")
		y.wrote(r.ID)
		call[task.Run](t, y.person, "POST", "/api/runs/"+r.ID.String()+"/cancel", nil)
		got := y.await(task.Task{ID: r.TaskID}, "canceled/by")
		if got.list() != "added leak.txt +1-0, added notes.md +1-0" || got.Branch == "" {
			t.Errorf("files %s, branch %q, note %q", got.list(), got.Branch, got.FilesNote)
		}
	})
	tk := y.ask("coder")
	first := y.await(tk, "running/working")
	y.wrote(first.ID)
	y.kill()
	y.start()
	second := y.await(tk, "running/working")
	t.Run("that of a run whose server was killed is kept and told", func(t *testing.T) {
		got := y.await(tk, "failed/lost")
		if got.ID != first.ID || got.list() != "added leak.txt +1-0, added notes.md +1-0" || got.Branch != "taskyard/run-"+first.ID.String() {
			t.Errorf("run %d: files %s, branch %q, note %q", got.ID, got.list(), got.Branch, got.FilesNote)
		}
	})
	t.Run("its retry continues on the branch, and reports its own part", func(t *testing.T) {
		y.wrote(second.ID)
		y.letGo()
		got := y.await(tk, "completed/ended")
		if got.ID != second.ID || got.list() != "modified a.txt +1-1, modified leak.txt +1-1, modified notes.md +1-0" ||
			got.Branch != "taskyard/run-"+first.ID.String() {
			t.Errorf("run %d: files %s, branch %q", got.ID, got.list(), got.Branch)
		}
		want := fmt.Sprintf("Taskyard run %d\nTaskyard run %d\nfirst", second.ID, first.ID)
		if log := y.git("log", "--format=%s", got.Branch); log != want {
			t.Errorf("log %q, want %q", log, want)
		}
	})
	t.Run("a run that a stop of the server interrupted continues in the same folder, and reports everything", func(t *testing.T) {
		if err := os.Remove(y.goFile); err != nil {
			t.Fatal(err)
		}
		tk := y.ask("coder")
		r := y.await(tk, "running/working")
		y.wrote(r.ID)
		y.term()
		y.letGo()
		y.start()
		got := y.await(tk, "completed/ended")
		if got.ID != r.ID || got.list() != "modified a.txt +1-1, added leak.txt +1-0, added notes.md +2-0" {
			t.Errorf("run %d: files %s", got.ID, got.list())
		}
	})
}

func TestAWorkerTellsWhatARunChanged(t *testing.T) {
	t.Parallel()
	y := newWorkerServer(t)
	if err := os.WriteFile(y.script, []byte("cat >/dev/null; printf 'one\\n' > a.txt; echo '{\"summary\":\"done\",\"success\":true}'"),
		0o600); err != nil {
		t.Fatal(err)
	}
	y.work("--labels", "gpu")
	y.await(y.create().ID, "completed|ended|1|1")
	if got := y.rows("SELECT path, change, added, diff FROM run_files"); len(got) != 1 || got[0] != "a.txt|added|1|@@ -0,0 +1 @@\n+one\n" {
		t.Errorf("files %q", got)
	}
}
