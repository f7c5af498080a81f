//go:build linux

package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/git"
	"taskyard/runner/instance"
	"taskyard/task"
)

// taskRun returns the options of a run of task 42.
func (s *site) taskRun(run, origin task.ID) Options {
	o := s.options(run, origin, 1)
	o.Branch, o.From, o.Title = "taskyard/42-fix", "main", "Fix it"
	return o
}

func (s *site) worktree(origin task.ID) task.Worktree {
	return task.Worktree{TaskID: 42, Title: "Fix it", Repository: s.repo, Target: "main", Branch: "taskyard/42-fix", Origin: origin}
}

func (s *site) taskTree(origin task.ID) *Task {
	s.t.Helper()
	repo, err := git.Open(s.t.Context(), s.repo)
	ok(s.t, err)
	w, err := OpenTask(s.runs, repo, s.worktree(origin))
	ok(s.t, err)
	return w
}

func TestTheRunsOfATaskShareItsWorktree(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n", "b.txt": "b\n", ".gitignore": "*.log\n"})
	s.git("checkout", "-q", "-b", "elsewhere")
	write(t, s.repo, map[string]string{"not-on-main": "x"})
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "elsewhere")
	prepared := 0
	o := s.taskRun(1, 1)
	o.Prepare = func(_ context.Context, folder, home string) error {
		prepared++
		ok(t, os.MkdirAll(home, 0o700))
		write(t, folder, map[string]string{"built.log": "build\n"})
		return nil
	}
	w := open(t, o)
	t.Run("it starts at the named branch, not at HEAD", func(t *testing.T) {
		same(t, "branch", testkit.Git(t, w.Folder(), "branch", "--show-current"), "taskyard/42-fix")
		s.says("the worktree", w.Folder(), "not-on-main", "")
	})
	write(t, w.Folder(), map[string]string{"a.txt": "one\ntwo\n"})
	got := w.Close(t.Context(), true)
	t.Run("what was left is committed by the agent with the title of the task", func(t *testing.T) {
		same(t, "log", s.git("log", "--format=%an <%ae> %cn %s", "taskyard/42-fix"),
			"coder <coder@taskyard.localhost> Taskyard Fix it\nMaya <m@example.org> Maya first")
		same(t, "the list", changeList(got), "modified a.txt")
		same(t, "branch", got.Branch+got.Note+got.Folder, "taskyard/42-fix")
	})
	t.Run("between runs a person may check the branch out and push to it", func(t *testing.T) {
		s.git("checkout", "-q", "taskyard/42-fix")
		write(t, s.repo, map[string]string{"b.txt": "by a person\n"})
		s.git("commit", "-q", "-a", "-m", "by a person")
	})
	t.Run("a run is refused while it is checked out there", func(t *testing.T) {
		_, err := Open(t.Context(), s.taskRun(2, 1))
		var no *UnusableError
		if !errors.As(err, &no) {
			t.Fatalf("got error %v", err)
		}
		same(t, "reason", no.Reason, "The branch taskyard/42-fix is checked out in "+s.repo+": check out another one there")
		s.git("checkout", "-q", "main")
	})
	o = s.taskRun(3, 1)
	o.Prepare = func(context.Context, string, string) error { prepared++; return nil }
	second := open(t, o)
	t.Run("the next run finds build results and pushed commits", func(t *testing.T) {
		same(t, "folder", second.Folder(), w.Folder())
		s.says("ignored files stay", second.Folder(), "built.log", "build\n")
		s.says("it was pushed", second.Folder(), "b.txt", "by a person\n")
		same(t, "status", testkit.Git(t, second.Folder(), "status", "--porcelain"), "")
		same(t, "branch", testkit.Git(t, second.Folder(), "branch", "--show-current"), "taskyard/42-fix")
		if prepared != 1 {
			t.Errorf("it was set up %d times", prepared)
		}
	})
	t.Run("while it works, Save commits to the branch, and its Git sees that", func(t *testing.T) {
		write(t, second.Folder(), map[string]string{"new.txt": "new\n", "tested.txt": "t\n"})
		tree := s.taskTree(1)
		commit, err := tree.Save(t.Context(), "Fix it", "coder")
		ok(t, err)
		same(t, "tip", s.git("rev-parse", "taskyard/42-fix"), commit)
		same(t, "status", testkit.Git(t, second.Folder(), "status", "--porcelain"), "")
		again, err := tree.Save(t.Context(), "Fix it", "coder")
		ok(t, err)
		same(t, "with nothing new there is no commit", again, commit)
		name, err := tree.Changed(t.Context(), commit)
		ok(t, err)
		same(t, "changed", name, "")
		write(t, second.Folder(), map[string]string{"b.txt": "spoiled\n", "cover.out": "x"})
		name, err = tree.Changed(t.Context(), commit)
		ok(t, err)
		same(t, "changed", name, "b.txt")
		ok(t, os.Remove(filepath.Join(second.Folder(), "cover.out")))
		write(t, second.Folder(), map[string]string{"b.txt": "by a person\n"})
		name, err = tree.Changed(t.Context(), commit)
		ok(t, err)
		same(t, "reverted changes", name, "")
	})
	t.Run("what the agent commits stays its own", func(t *testing.T) {
		testkit.Git(t, second.Folder(), "commit", "-q", "--allow-empty", "-m", "mine")
		got := second.Close(t.Context(), true)
		same(t, "the list", changeList(got), "added new.txt\nadded tested.txt")
		same(t, "log", s.git("log", "-2", "--format=%an %s", "taskyard/42-fix"), "Maya mine\ncoder Fix it")
	})
	t.Run("after Retire, only the branch is left", func(t *testing.T) {
		ok(t, s.taskTree(1).Retire(t.Context()))
		same(t, "folders", s.git("worktree", "list", "--porcelain"), s.git("worktree", "list", "--porcelain"))
		if _, err := os.Stat(filepath.Join(s.runs, "tree-1")); !os.IsNotExist(err) || s.trees() != 0 || s.taskTree(1) != nil {
			t.Errorf("it still exists: %v, %d worktrees", err, s.trees())
		}
		s.git("rev-parse", "taskyard/42-fix")
	})
	t.Run("a later run creates it again, on its branch", func(t *testing.T) {
		w := open(t, s.taskRun(9, 1))
		s.says("the worktree", w.Folder(), "new.txt", "new\n")
		s.says("the worktree", w.Folder(), "built.log", "")
		w.Close(t.Context(), true)
		gone, err := RetireFolder(t.Context(), s.runs, "tree-1")
		if ok(t, err); !gone || s.trees() != 0 {
			t.Errorf("got retired %v, %d worktrees", gone, s.trees())
		}
	})
}

func TestAnAgentMayLeaveTheBranchOfItsTask(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string][]string{
		"for a branch of its own": {"checkout", "-q", "-b", "mine"},
		"for a commit":            {"checkout", "-q", "--detach"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, map[string]string{"a.txt": "one\n"})
			w := open(t, s.taskRun(1, 1))
			testkit.Git(t, w.Folder(), leave...)
			testkit.Git(t, w.Folder(), "commit", "-q", "--allow-empty", "-m", "mine")
			for _, text := range []string{"two\n", "three\n", "four\n"} { // a check fails, and the agent continues
				write(t, w.Folder(), map[string]string{"a.txt": text})
				commit, err := s.taskTree(1).Save(t.Context(), "Fix it", "coder")
				ok(t, err)
				same(t, "tip", s.git("rev-parse", "taskyard/42-fix"), commit)
				same(t, "file", s.git("show", commit+":a.txt"), text)
			}
			same(t, "its branch", testkit.Git(t, w.Folder(), "status", "-sb"), "## taskyard/42-fix")
			same(t, "main", s.git("log", "--format=%s", "main"), "first")
			got := w.Close(t.Context(), true)
			same(t, "the list", changeList(got), "modified a.txt")
			same(t, "note and branch", got.Note+got.Branch, "taskyard/42-fix")
			same(t, "log", s.git("log", "--format=%s", "taskyard/42-fix"), "Fix it\nFix it\nFix it\nmine\nfirst")
		})
	}
}

func TestARepositoryWithinTheWorktreeOfATaskIsNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n"})
	w := open(t, s.taskRun(1, 1))
	inner := filepath.Join(w.Folder(), "inner")
	write(t, w.Folder(), map[string]string{"a.txt": "two\n", "inner/deep.txt": "x\n"})
	testkit.Git(t, inner, "init", "-q")
	testkit.Git(t, inner, "add", "-A")
	testkit.Git(t, inner, "commit", "-q", "-m", "inner")
	got := w.Close(t.Context(), true)
	same(t, "the list", changeList(got), "modified a.txt")
	same(t, "note", got.Note, "The folder inner/ is a repository of its own, so its files are not on the branch.")
	same(t, "branch and folder", got.Branch+got.Folder, "taskyard/42-fix")
}

func TestAnAgentMayCommitMoreThanIsCommittedForIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n"})
	w := open(t, s.taskRun(1, 1))
	ok(t, os.Mkdir(filepath.Join(w.Folder(), "many"), 0o755))
	for i := range maxSaved + 1 {
		ok(t, os.WriteFile(filepath.Join(w.Folder(), "many", task.ID(i).String()), []byte("x"), 0o644))
	}
	_, err := s.taskTree(1).Save(t.Context(), "Fix it", "coder")
	if err == nil || !strings.Contains(err.Error(), "more than 20,000 files changed") {
		t.Fatalf("error %v", err)
	}
	testkit.Git(t, w.Folder(), "add", "-A")
	testkit.Git(t, w.Folder(), "commit", "-q", "-m", "many")
	write(t, w.Folder(), map[string]string{"a.txt": "two\n", "many/7": "y", "many/8": "longer"})
	commit, err := s.taskTree(1).Save(t.Context(), "Fix it", "coder")
	ok(t, err)
	same(t, "its last commit", s.git("show", "--format=%s", "--name-only", commit), "Fix it\n\na.txt\nmany/7\nmany/8")
	got := w.Close(t.Context(), true)
	if got.Note != "" || got.Total != maxSaved+2 {
		t.Errorf("note %q, %d files", got.Note, got.Total)
	}
}

func TestAKilledRunOfATaskLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n"})
	w := open(t, s.taskRun(1, 1))
	write(t, w.Folder(), map[string]string{"half": "x\n"})
	got := Salvage(t.Context(), s.taskRun(1, 1))
	if got == nil || changeList(got) != "added half\n" {
		t.Fatalf("got work %+v", got)
	}
	w = open(t, s.taskRun(2, 1))
	write(t, w.Folder(), map[string]string{"more": "x\n"})
	w = open(t, s.taskRun(3, 1)) // run 2 was killed
	same(t, "its own", changeList(w.Close(t.Context(), true)), "")
	same(t, "log", s.git("log", "--format=%s", "taskyard/42-fix"), "Fix it\nFix it\nfirst")
}

func TestAFailedSetupIsRetried(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n"})
	o, tries := s.taskRun(1, 1), 0
	o.Prepare = func(context.Context, string, string) error {
		tries++
		if tries == 1 {
			return &SetupError{"no network"}
		}
		return nil
	}
	_, err := Open(t.Context(), o)
	if _, ok := errors.AsType[*SetupError](err); !ok {
		t.Fatalf("got error %v", err)
	}
	o.Run, o.Origin = 2, 1
	open(t, o).Close(t.Context(), true)
	if tries != 2 {
		t.Errorf("got %d tries", tries)
	}
}

func TestAWorktreeOfATaskInABareRepository(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n"})
	bare := filepath.Join(t.TempDir(), "bare.git")
	testkit.Git(t, s.repo, "clone", "-q", "--bare", s.repo, bare)
	clone := s.repo
	s.repo = bare
	w := open(t, s.taskRun(1, 1))
	write(t, w.Folder(), map[string]string{"a.txt": "two\n"})
	same(t, "the list", changeList(w.Close(t.Context(), true)), "modified a.txt")
	t.Run("a person pushes to its branch between runs", func(t *testing.T) {
		testkit.Git(t, clone, "fetch", "-q", bare, "taskyard/42-fix:fix")
		testkit.Git(t, clone, "checkout", "-q", "fix")
		write(t, clone, map[string]string{"a.txt": "three\n"})
		testkit.Git(t, clone, "commit", "-q", "-a", "-m", "pushed")
		testkit.Git(t, clone, "push", "-q", bare, "fix:taskyard/42-fix")
		w := open(t, s.taskRun(2, 1))
		s.says("the worktree", w.Folder(), "a.txt", "three\n")
		w.Close(t.Context(), true)
	})
}

func TestARepositoryWithADataFolderIsNotReadable(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n"})
	bare := filepath.Join(t.TempDir(), "bare.git")
	testkit.Git(t, s.repo, "clone", "-q", "--bare", s.repo, bare)
	testkit.Git(t, bare, "remote", "remove", "origin")
	s.repo = bare
	w := open(t, s.taskRun(1, 1))
	if got := w.Readable(t.Context()); len(got) != 1 || got[0] != bare {
		t.Errorf("got %v as readable", got)
	}
	release, err := instance.Protect(filepath.Join(bare, "data", "taskyard.db"))
	ok(t, err)
	defer release()
	if got := w.Readable(t.Context()); got != nil {
		t.Errorf("with a data folder inside, got %v as readable", got)
	}
	w.Close(t.Context(), true)
}

func TestASubtaskBeginsOnTheBranchOfItsParent(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"a.txt": "one\n", "b.txt": "b\n"})
	parent := open(t, s.taskRun(1, 1))
	write(t, parent.Folder(), map[string]string{"a.txt": "parent\n"})
	o := s.options(2, 2, 1)
	o.Branch, o.From, o.Title = "taskyard/43-part", "taskyard/42-fix", "Part of it"
	o.SharedRun, o.Shared, o.SharedTree = 1, filepath.Join(s.runs, "run-1-1"), 1
	child := open(t, o)
	s.says("the child", child.Folder(), "a.txt", "parent\n")
	write(t, child.Folder(), map[string]string{"b.txt": "child\n", "new.txt": "n\n"})
	same(t, "merge", child.Close(t.Context(), true).Merge, "")
	before, after := s.git("rev-parse", "taskyard/42-fix"), s.git("rev-parse", "taskyard/43-part")

	t.Run("and is merged into the working folder of its parent", func(t *testing.T) {
		write(t, parent.Folder(), map[string]string{"mine.txt": "m\n"})
		w := s.taskTree(1)
		if err := w.Advance(t.Context(), before, after, "Fix it", "coder"); !errors.Is(err, ErrMoved) {
			t.Fatalf("later changes of the parent are not noticed: %v", err)
		}
		before := s.git("rev-parse", "taskyard/42-fix")
		g := testkit.Git(t, s.repo, "merge-tree", "--write-tree", before, after)
		merged := testkit.Git(t, s.repo, "commit-tree", g, "-p", before, "-m", "Part of it")
		ok(t, w.Advance(t.Context(), before, merged, "Fix it", "coder"))
		ok(t, w.Advance(t.Context(), before, merged, "Fix it", "coder")) // again
		s.says("the parent", parent.Folder(), "b.txt", "child\n")
		s.says("the parent", parent.Folder(), "new.txt", "n\n")
		s.says("the parent", parent.Folder(), "mine.txt", "m\n")
		same(t, "status", testkit.Git(t, parent.Folder(), "status", "--porcelain"), "")
	})
	t.Run("a kill between updates of branch and files is repaired", func(t *testing.T) {
		before := s.git("rev-parse", "taskyard/42-fix")
		blob := testkit.Git(t, s.repo, "rev-parse", before+":a.txt")
		testkit.Git(t, s.repo, "update-index", "--cacheinfo", "100644,"+blob+",b.txt")
		files := testkit.Git(t, s.repo, "write-tree")
		s.git("reset", "-q")
		after := testkit.Git(t, s.repo, "commit-tree", files, "-p", before, "-m", "next")
		w := s.taskTree(1)
		w.t.state.Write = &move{before, after}
		ok(t, w.t.save())
		write(t, parent.Folder(), map[string]string{nextPrefix + rand.Text(): "par"})
		s.git("update-ref", "refs/heads/taskyard/42-fix", after)
		ok(t, s.taskTree(1).Advance(t.Context(), before, after, "Fix it", "coder"))
		s.says("the parent", parent.Folder(), "b.txt", "parent\n")
		same(t, "files of the branch", s.git("ls-tree", "--name-only", "taskyard/42-fix"), "a.txt\nb.txt")
		same(t, "status", testkit.Git(t, parent.Folder(), "status", "--porcelain"), "")
	})
	parent.Close(t.Context(), true)
}
