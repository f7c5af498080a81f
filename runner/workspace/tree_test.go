//go:build linux

package workspace

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// site is a repository and the folder of the runs.
type site struct {
	t          *testing.T
	repo, runs string
}

func newSite(t *testing.T, files map[string]string) *site {
	return &site{t, testkit.Repository(t, files), t.TempDir()}
}

func (s *site) options(run, origin, lease task.ID) Options {
	return Options{Run: run, Origin: origin, Lease: int64(lease), Agent: "coder", Workspace: "worktree:" +
		s.repo, Dir: filepath.Join(s.runs, "run-"+run.String()+"-"+lease.String())}
}

func (s *site) open(run, origin, lease task.ID) *Space {
	return open(s.t, s.options(run, origin, lease))
}

func (s *site) git(args ...string) string { return testkit.Git(s.t, s.repo, args...) }

// trees returns the number of worktrees besides the repository.
func (s *site) trees() int { return strings.Count(s.git("worktree", "list")+"\n", "\n") - 1 }

func (s *site) refused(why string) {
	s.t.Helper()
	_, err := Open(s.t.Context(), s.options(9, 9, 1))
	if no, ok := errors.AsType[*UnusableError](err); !ok || !strings.Contains(no.Reason, why) {
		s.t.Errorf("got error %v, want a refusal with %q", err, why)
	}
}

func TestARunHasItsOwnWorktree(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n", "b.txt": "two\n", "sub/c.txt": "three\n", ".gitignore": "*.log\n"})
	head := s.git("rev-parse", "HEAD")
	w := s.open(7, 7, 1)
	t.Run("it is clean, on a branch that begins at the repository's HEAD", func(t *testing.T) {
		same(t, "branch", testkit.Git(t, w.Folder(), "branch", "--show-current"), "taskyard/run-7")
		same(t, "status", testkit.Git(t, w.Folder(), "status", "--porcelain"), "")
		same(t, "head", testkit.Git(t, w.Folder(), "rev-parse", "HEAD"), head)
	})
	write(t, w.Folder(), map[string]string{
		"a.txt": "one\nmore\n", "new/d.txt": "four\n",
		"noise.log": "x", "-rf": "x\n", "new\nline": "x\n", "rtl\u202etxt.exe": "x\n",
	})
	ok(t, os.Remove(filepath.Join(w.Folder(), "b.txt")))
	got := w.Close(t.Context(), true)
	t.Run("changes are reported", func(t *testing.T) {
		same(t, "the list", changeList(got), "added -rf\nmodified a.txt\ndeleted b.txt\nadded new\nline\nadded new/d.txt\nadded rtl\u202etxt.exe")
		same(t, "the diff", got.Files[1].Diff, "@@ -1 +1,2 @@\n one\n+more")
		if got.Total != 6 || got.Branch != "taskyard/run-7" || got.Repository != s.repo || got.Folder != "" || got.Note != "" {
			t.Errorf("got work %+v", got)
		}
	})
	t.Run("Taskyard commits uncommitted changes to the branch", func(t *testing.T) {
		same(t, "log", s.git("log", "--format=%an %s", "taskyard/run-7"), "Taskyard Taskyard run 7\nMaya first")
		same(t, "files", s.git("-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", "-z", "taskyard/run-7"),
			"-rf\x00.gitignore\x00a.txt\x00new\nline\x00new/d.txt\x00rtl\u202etxt.exe\x00sub/c.txt\x00")
	})
	t.Run("the repository itself is unchanged, and the folder is removed", func(t *testing.T) {
		same(t, "status", s.git("status", "--porcelain"), "")
		same(t, "head", s.git("rev-parse", "main"), head)
		if _, err := os.Stat(w.Folder()); err == nil || s.trees() != 0 {
			t.Errorf("the folder still exists (%v), %d worktrees", err, s.trees())
		}
	})
	t.Run("it can be merged", func(t *testing.T) {
		s.git("merge", "-q", "taskyard/run-7")
		if b, err := os.ReadFile(filepath.Join(s.repo, "a.txt")); err != nil || string(b) != "one\nmore\n" {
			t.Errorf("a.txt contains %q, %v", b, err)
		}
	})
}

func TestTheBranchKeepsWhatTheAgentCommitted(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n", ".gitignore": "*.log\n"})
	w := s.open(1, 1, 1)
	write(t, w.Folder(), map[string]string{"a.txt": "two\n", "kept.log": "forced\n"})
	testkit.Git(t, w.Folder(), "add", "-f", "a.txt", "kept.log")
	testkit.Git(t, w.Folder(), "commit", "-q", "-m", "mine")
	t.Run("without other changes, Taskyard commits nothing", func(t *testing.T) {
		got := w.Close(t.Context(), true)
		same(t, "the list", changeList(got), "modified a.txt\nadded kept.log")
		same(t, "log", s.git("log", "--format=%s", "taskyard/run-1"), "mine\nfirst")
	})
	t.Run("commits on another branch are taken over", func(t *testing.T) {
		w := s.open(2, 2, 1)
		testkit.Git(t, w.Folder(), "checkout", "-q", "-b", "feature")
		write(t, w.Folder(), map[string]string{"a.txt": "three\n"})
		testkit.Git(t, w.Folder(), "commit", "-q", "-a", "-m", "feature")
		got := w.Close(t.Context(), true)
		same(t, "branch", got.Branch, "taskyard/run-2")
		same(t, "log", s.git("log", "--format=%s", "taskyard/run-2"), "feature\nfirst")
	})
	t.Run("if the histories diverge, the branch is kept and the work gets its own", func(t *testing.T) {
		w := s.open(3, 3, 1)
		write(t, w.Folder(), map[string]string{"a.txt": "four\n"})
		testkit.Git(t, w.Folder(), "commit", "-q", "-a", "-m", "this way")
		testkit.Git(t, w.Folder(), "checkout", "-q", "--orphan", "other")
		testkit.Git(t, w.Folder(), "commit", "-q", "-m", "that way")
		got := w.Close(t.Context(), true)
		same(t, "branch", got.Branch, "taskyard/run-3-2")
		same(t, "logs", s.git("log", "--format=%s", "taskyard/run-3")+"|"+
			s.git("log", "--format=%s", "taskyard/run-3-2"), "this way\nfirst|that way")
	})
	t.Run("a run that changes nothing leaves no branch", func(t *testing.T) {
		got := s.open(4, 4, 1).Close(t.Context(), true)
		same(t, "branches", got.Branch+s.git("branch", "--list", "taskyard/run-4*"), "")
		if len(got.Files) != 0 || got.Note != "" || s.trees() != 0 {
			t.Errorf("got work %+v", got)
		}
	})
	t.Run("an existing branch belongs to another run", func(t *testing.T) {
		s.git("branch", "taskyard/run-5")
		w := s.open(5, 5, 1)
		write(t, w.Folder(), map[string]string{"x": "x"})
		same(t, "branch", w.Close(t.Context(), true).Branch, "taskyard/run-5-2")
	})
}

func TestARunContinuesInItsWorktree(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n"})
	t.Run("the same run after a stop finds everything unchanged, and reports everything", func(t *testing.T) {
		w := s.open(1, 1, 1)
		write(t, w.Folder(), map[string]string{"half": "x\n", ".git": "gitdir: /nowhere\n"})
		w.Suspend()
		w2 := s.open(1, 1, 2)
		same(t, "folder", w2.Folder(), w.Folder())
		same(t, "status", testkit.Git(t, w2.Folder(), "status", "--porcelain"), "?? half")
		write(t, w2.Folder(), map[string]string{"rest": "x\n"})
		same(t, "the list", changeList(w2.Close(t.Context(), true)), "added half\nadded rest")
	})
	t.Run("a retry continues on the branch, and reports its own changes", func(t *testing.T) {
		w := s.open(2, 1, 1)
		same(t, "branch", testkit.Git(t, w.Folder(), "branch", "--show-current"), "taskyard/run-1")
		write(t, w.Folder(), map[string]string{"second": "x\n"})
		got := w.Close(t.Context(), true)
		same(t, "the list", changeList(got), "added second")
		same(t, "log", s.git("log", "--format=%s", got.Branch), "Taskyard run 2\nTaskyard run 1\nfirst")
	})
	t.Run("what a lost run left is kept, and reported", func(t *testing.T) {
		w := s.open(3, 3, 1)
		write(t, w.Folder(), map[string]string{"lost": "x\n"})
		got := Salvage(t.Context(), s.options(3, 3, 1))
		if got == nil || changeList(got) != "added lost\n" || got.Branch != "taskyard/run-3" {
			t.Fatalf("got work %+v", got)
		}
		if again := Salvage(t.Context(), s.options(3, 3, 1)); again != nil {
			t.Errorf("reported twice: %+v", again)
		}
	})
	t.Run("otherwise, a retry keeps it first", func(t *testing.T) {
		w := s.open(4, 4, 1)
		write(t, w.Folder(), map[string]string{"lost": "x\n"})
		ok(t, os.WriteFile(filepath.Join(s.repo, ".git/worktrees/work/index.lock"), nil, 0o600))
		w2 := s.open(5, 4, 1)
		write(t, w2.Folder(), map[string]string{"mine": "x\n"})
		same(t, "the list", changeList(w2.Close(t.Context(), true)), "added mine")
		same(t, "log", s.git("log", "--format=%s", "taskyard/run-4"), "Taskyard run 5\nTaskyard run 4\nfirst")
	})
	t.Run("a deleted folder is created again", func(t *testing.T) {
		w := s.open(6, 6, 1)
		ok(t, os.RemoveAll(filepath.Dir(w.Folder())))
		w2 := s.open(6, 6, 2)
		write(t, w2.Folder(), map[string]string{"x": "x\n"})
		same(t, "the list", changeList(w2.Close(t.Context(), true)), "added x")
		if s.trees() != 0 {
			t.Errorf("worktrees:\n%s", s.git("worktree", "list"))
		}
	})
}

func TestRepositoriesThatCannotHaveWorktrees(t *testing.T) {
	s := newSite(t, map[string]string{"a": "a", "dir/b": "b"})
	good := s.repo
	t.Run("a missing folder", func(t *testing.T) { s.repo = filepath.Join(good, "no"); s.refused("there is no such folder") })
	t.Run("a file", func(t *testing.T) { s.repo = filepath.Join(good, "a"); s.refused("not a folder") })
	t.Run("not a repository", func(t *testing.T) { s.repo = t.TempDir(); s.refused("not a Git repository") })
	t.Run("a folder within a repository", func(t *testing.T) { s.repo = filepath.Join(good, "dir"); s.refused("name the repository itself") })
	t.Run("the .git folder", func(t *testing.T) { s.repo = filepath.Join(good, ".git"); s.refused("name the repository itself") })
	t.Run("a bare repository", func(t *testing.T) {
		s.repo = t.TempDir()
		s.git("init", "-q", "--bare")
		s.refused("bare repository")
	})
	t.Run("a repository without a commit", func(t *testing.T) {
		s.repo = t.TempDir()
		s.git("init", "-q")
		s.refused("no commit yet")
	})
	t.Run("a broken repository", func(t *testing.T) {
		s.repo = testkit.Repository(t, nil)
		ok(t, os.WriteFile(filepath.Join(s.repo, ".git/config"), []byte("[core\n"), 0o600))
		s.refused("bad config")
	})
	t.Run("a locked repository", func(t *testing.T) {
		s.repo = testkit.Repository(t, nil)
		lock := filepath.Join(s.repo, ".git/refs/heads/taskyard/run-9.lock")
		write(t, s.repo, map[string]string{".git/refs/heads/taskyard/run-9.lock": ""})
		s.refused("is locked")
		ok(t, os.Remove(lock))
		if w := s.open(9, 9, 2).Close(t.Context(), true); w.Note != "" || s.trees() != 0 {
			t.Errorf("after the lock: got %+v", w)
		}
	})
	t.Run("a full disk, which a retry may find with space", func(t *testing.T) {
		s.repo = testkit.Repository(t, nil)
		log := filepath.Join(s.repo, ".git/logs/refs/heads/taskyard/run-9")
		ok(t, os.MkdirAll(filepath.Dir(log), 0o755))
		ok(t, os.Symlink("/dev/full", log))
		_, err := Open(t.Context(), s.options(9, 9, 1))
		if full, ok := errors.AsType[*SetupError](err); !ok || !strings.Contains(full.Reason, "No space left on device") {
			t.Errorf("got error %v, want one that is retried", err)
		}
		ok(t, os.Remove(log))
		if w := s.open(9, 9, 2).Close(t.Context(), true); w.Note != "" || s.trees() != 0 {
			t.Errorf("with space: got %+v", w)
		}
	})
	t.Run("a repository whose branches conflict with ours", func(t *testing.T) {
		s.repo = testkit.Repository(t, nil)
		s.git("branch", "taskyard")
		s.refused("no worktree could be made")
	})
	t.Run("without Git", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		s.repo = good
		s.refused("not installed")
	})
	t.Run("a stop is not reported as a fault of the repository", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(context.DeadlineExceeded)
		s.repo = good
		if _, err := Open(ctx, s.options(9, 9, 1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v", err)
		}
	})
}

func TestNothingThatARepositoryNamesIsRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n", ".gitattributes": "*.txt filter=evil diff=evil\n"})
	mark := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil")
	ok(t, os.WriteFile(evil, []byte("#!/bin/sh\necho \"$0 $@\" >> "+mark+"\ncat\n"), 0o755))
	arm := func(dir string) {
		for _, name := range []string{
			"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor",
			"diff.external", "diff.evil.textconv", "diff.evil.command", "filter.evil.clean", "filter.evil.smudge",
			"filter.evil.process", "gpg.program", "core.askPass", "credential.helper",
		} {
			testkit.Git(t, dir, "config", name, evil)
		}
		testkit.Git(t, dir, "config", "commit.gpgSign", "true")
		testkit.Git(t, dir, "config", "filter.evil.required", "true")
		for _, hook := range []string{"post-checkout", "pre-commit", "reference-transaction", "post-index-change", "post-commit"} {
			write(t, dir, map[string]string{".git/hooks/" + hook: "#!/bin/sh\nexec " + evil + "\n"})
			ok(t, os.Chmod(filepath.Join(dir, ".git/hooks", hook), 0o755))
		}
	}
	arm(s.repo)
	w := s.open(1, 1, 1)
	write(t, w.Folder(), map[string]string{"a.txt": "two\n", "new.txt": "x\n"})
	t.Run("nor a program that a repository within the folder names", func(t *testing.T) {
		inner := filepath.Join(w.Folder(), "inner")
		ok(t, os.Mkdir(inner, 0o755))
		testkit.Git(t, inner, "init", "-q")
		write(t, inner, map[string]string{"deep.txt": "x"})
		testkit.Git(t, inner, "add", "-A")
		testkit.Git(t, inner, "commit", "-q", "-m", "inner")
		arm(inner)
	})
	t.Run("nor a program of another repository that .git points to", func(t *testing.T) {
		other := testkit.Repository(t, nil)
		arm(other)
		write(t, w.Folder(), map[string]string{".git": "gitdir: " + other + "/.git\n"})
	})
	_ = os.Remove(mark) // Git of the test may have run some
	got := w.Close(t.Context(), true)
	if b, err := os.ReadFile(mark); err == nil {
		t.Errorf("ran:\n%s", b)
	}
	same(t, "the list", changeList(got), "modified a.txt\nadded new.txt")
	t.Run("a plain Git would have run it", func(t *testing.T) {
		// A commit hook runs whatever Git thinks of files and times.
		cmd := exec.Command("git", "-C", s.repo, "-c", "user.name=Maya", "-c", "user.email=m@example.org",
			"commit", "-q", "--allow-empty", "-m", "trapped")
		out, _ := cmd.CombinedOutput() // some traps make it fail
		if _, err := os.Stat(mark); err != nil {
			t.Errorf("the traps do not work: %v\n%s", err, out)
		}
	})
	t.Run("a repository within is not lost: the folder is kept", func(t *testing.T) {
		if !strings.Contains(got.Note, "inner/") || got.Folder != w.Folder() {
			t.Errorf("got note %q, folder %q", got.Note, got.Folder)
		}
	})
}

func TestPipesAndLinksInAWorktree(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n", "dir/b.txt": "two\n"})
	outside := t.TempDir()
	write(t, outside, map[string]string{"secret": "hidden words\n", "b.txt": "hidden words\n"})
	w := s.open(1, 1, 1)
	ok(t, os.Remove(filepath.Join(w.Folder(), "a.txt")))
	ok(t, syscall.Mkfifo(filepath.Join(w.Folder(), "a.txt"), 0o644))
	ok(t, syscall.Mkfifo(filepath.Join(w.Folder(), "pipe"), 0o644))
	ok(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(w.Folder(), "link")))
	ok(t, os.RemoveAll(filepath.Join(w.Folder(), "dir")))
	ok(t, os.Symlink(outside, filepath.Join(w.Folder(), "dir")))
	got := w.Close(t.Context(), true)
	same(t, "the list", changeList(got), "deleted a.txt\nadded dir (symbolic link)\ndeleted dir/b.txt\nadded link (symbolic link)")
	if strings.Contains(got.Patch(), "hidden words") || got.Note != "" {
		t.Errorf("got note %q, patch\n%s", got.Note, got.Patch())
	}
}

func TestPipesThatGitWouldReadDoNotBlockIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{".gitattributes": "*.txt text\n", "dir/b.txt": "two\n"})
	w := s.open(1, 1, 1)
	write(t, w.Folder(), map[string]string{"a.txt": "one\n"})
	ok(t, os.Remove(filepath.Join(w.Folder(), ".gitattributes")))
	for _, name := range []string{".gitattributes", ".gitignore", "dir/.gitignore"} {
		ok(t, syscall.Mkfifo(filepath.Join(w.Folder(), name), 0o644))
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second) // a single call of Git would wait longer
	defer stop()
	got := w.Close(ctx, true)
	same(t, "the list", changeList(got), "deleted .gitattributes\nadded a.txt")
	if got.Note != "" || got.Folder != "" {
		t.Errorf("got note %q, folder %q", got.Note, got.Folder)
	}
}

func TestManyFilesInAWorktree(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	w := s.open(1, 1, 1)
	for i := range maxSaved + 1 {
		ok(t, os.WriteFile(filepath.Join(w.Folder(), "f"+task.ID(i).String()), nil, 0o644))
	}
	got := w.Close(t.Context(), true)
	if got.Folder == "" || got.Branch != "" || !strings.Contains(got.Note, "more than 20,000 files changed") {
		t.Errorf("got folder %q, branch %q, note %q", got.Folder, got.Branch, got.Note)
	}
	if list, _ := os.ReadDir(w.Folder()); len(list) <= maxSaved {
		t.Errorf("%d files were left", len(list))
	}
}
