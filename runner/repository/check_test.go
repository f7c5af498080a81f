//go:build linux

package repository

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	checks "taskyard/runner/check"
	"taskyard/runner/workspace"
	"taskyard/task"
)

// run opens the worktree of task 42, as a run of the task does.
func (s *site) run(id task.ID) *workspace.Space {
	s.t.Helper()
	w, err := workspace.Open(s.t.Context(), workspace.Options{
		Run: id, Origin: 1, Lease: 1, Agent: "coder", Workspace: "worktree:" + s.repo, Dir: filepath.Join(s.runs, "run-"+id.String()+"-1"),
		Branch: "taskyard/42-fix", From: "main", Title: "Fix it",
	})
	ok(s.t, err)
	return w
}

func (s *site) live() task.Worktree {
	w := s.worktree("taskyard/42-fix")
	w.Origin = 1
	return w
}

func put(t *testing.T, folder string, list files) {
	t.Helper()
	for name, text := range list {
		ok(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		ok(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
}

func TestAResultIsTheContentOfTheWorktree(t *testing.T) {
	t.Parallel()
	confined(t)
	s := newSite(t, files{"a.txt": "one\n", ".gitignore": "*.log\n"})
	w := s.run(1)
	put(t, w.Folder(), files{"a.txt": "two\n", "docs/b.md": "b\n", "built.log": "x\n"})
	rev, err := s.rs.Snapshot(t.Context(), s.live(), "coder")
	ok(t, err)
	same(t, "files", fileList(rev.Files), "modified a.txt +1-1\nadded docs/b.md +1-0")
	same(t, "log", s.git("log", "-1", "--format=%an %s", rev.Head), "coder Fix it")
	again, err := s.rs.Snapshot(t.Context(), s.live(), "coder")
	ok(t, err)
	same(t, "the same again", again.Head+again.Patch, rev.Head+rev.Patch)

	check := func(c task.Check) task.CheckRun {
		t.Helper()
		c.Required = true
		return s.rs.Check(t.Context(), s.live(), rev, c)
	}
	for name, c := range map[string]struct {
		check  task.Check
		want   task.Verdict
		reason string
	}{
		"a command sees what was built":    {task.Check{Run: "test -e built.log && grep -q two a.txt"}, task.CheckPassed, ""},
		"a command that fails":             {task.Check{Run: "exit 2"}, task.CheckFailed, "exit code 2"},
		"a command that takes too long":    {task.Check{Run: "sleep 60", TimeoutSeconds: 1}, task.CheckTimedOut, "it took longer than 1s"},
		"a file":                           {task.Check{Kind: task.CheckFile, Path: "docs/b.md"}, task.CheckPassed, ""},
		"a folder is not a file":           {task.Check{Kind: task.CheckFile, Path: "docs"}, task.CheckFailed, "there is no such file"},
		"a file that Git ignores":          {task.Check{Kind: task.CheckFile, Path: "built.log"}, task.CheckFailed, "there is no such file"},
		"a changed file":                   {task.Check{Kind: task.CheckChanged, Glob: "docs/**"}, task.CheckPassed, ""},
		"a changed file at the top":        {task.Check{Kind: task.CheckChanged, Glob: "**/*.txt"}, task.CheckPassed, ""},
		"no changed file":                  {task.Check{Kind: task.CheckChanged, Glob: "*.go"}, task.CheckFailed, "no changed file matches"},
		"evidence for the caller to check": {task.Check{Kind: task.CheckURL}, task.CheckNotRun, "a check of kind url needs no repository"},
		"a command that makes a new file":  {task.Check{Run: "echo x > cover.log"}, task.CheckPassed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if run := check(c.check); run.Verdict != c.want || run.Reason != c.reason || run.Commit != rev.Head {
				t.Errorf("%+v", run)
			}
		})
	}
	t.Run("files that a check leaves are not part of the next result", func(t *testing.T) {
		run := check(task.Check{Run: "mkdir out; echo x > out/cover.out; echo x > cover.log; ln -s /etc/passwd link; git init -q nested; exit 1"})
		same(t, "verdict", string(run.Verdict)+" "+run.Reason, "failed exit code 1")
		same(t, "log", run.Log, "Taskyard removed new files after this check (2): link, out/cover.out")
		same(t, "hash of the log", run.LogSHA256, checks.Sum(run.Log))
		put(t, w.Folder(), files{"mine.txt": "x\n"})
		run = check(task.Check{Run: "echo x > report.xml; head -c 300000 /dev/zero | tr '\\0' x"})
		if !strings.HasSuffix(run.Log, "x\nTaskyard removed new files after this check (1): report.xml\n") || len(run.Log) > task.MaxCheckLog {
			t.Errorf("got a log of %d bytes: …%s", len(run.Log), run.Log[max(0, len(run.Log)-100):])
		}
		next, err := s.rs.Snapshot(t.Context(), s.live(), "coder")
		ok(t, err)
		same(t, "files", fileList(next.Files), "modified a.txt +1-1\nadded docs/b.md +1-0\nadded mine.txt +1-0")
		if _, err := os.Stat(filepath.Join(w.Folder(), "cover.log")); err != nil {
			t.Errorf("an ignored file was removed: %v", err)
		}
		ok(t, os.Remove(filepath.Join(w.Folder(), "mine.txt")))
		rev, err = s.rs.Snapshot(t.Context(), s.live(), "coder")
		ok(t, err)
	})
	t.Run("a check that changes files fails", func(t *testing.T) {
		run := check(task.Check{Run: "echo changed > a.txt"})
		if run.Verdict != task.CheckFailed || run.Reason != "files changed while it ran: a.txt" {
			t.Errorf("%+v", run)
		}
		run = check(task.Check{Run: "true"})
		if run.Verdict != task.CheckNotRun || !strings.Contains(run.Reason, "a.txt differs") {
			t.Errorf("%+v", run)
		}
	})
	w.Close(t.Context(), true)
	t.Run("a branch that people pushed needs no worktree", func(t *testing.T) {
		s.branch("pushed", "main", files{"a.txt": "pushed\n"})
		rev := s.revision("pushed")
		run := s.rs.Check(t.Context(), s.worktree("pushed"), rev, task.Check{Run: "grep pushed a.txt"})
		if run.Verdict != task.CheckPassed || run.Log != "pushed\n" || run.LogSHA256 == "" || run.Level == "" {
			t.Errorf("%+v", run)
		}
		same(t, "left", strings.Join(s.left(), " "), "tree-1")
	})
	t.Run("a worktree is kept while a run works there", func(t *testing.T) {
		w := s.run(2)
		refusal(t, s.rs.Retire(t.Context(), s.live(), ""), task.CodeRepository, "a run works there")
		w.Close(t.Context(), true)
	})
	t.Run("a branch with commits after its result is kept", func(t *testing.T) {
		tip := s.git("rev-parse", s.live().Branch)
		ok(t, s.rs.Retire(t.Context(), s.live(), s.git("rev-parse", "main")))
		same(t, "the branch", s.git("rev-parse", s.live().Branch), tip)
	})
	t.Run("after Retire, branch and worktree are gone", func(t *testing.T) {
		tip := s.git("rev-parse", s.live().Branch)
		ok(t, s.rs.Retire(t.Context(), s.live(), tip))
		ok(t, s.rs.Retire(t.Context(), s.live(), tip))
		same(t, "left", strings.Join(s.left(), " ")+s.git("branch", "--list", "taskyard/*"), "")
		s.nothingLeft()
	})
	t.Run("without branch and worktree there is no result", func(t *testing.T) {
		_, err := s.rs.Snapshot(t.Context(), s.live(), "coder")
		refusal(t, err, task.CodeRepository, "has no branch taskyard/42-fix")
	})
}

func (s *site) left() (names []string) {
	list, _ := os.ReadDir(s.runs)
	for _, e := range list {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestASubtaskIsMergedIntoTheWorktreeOfItsParent(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "one\n", "b.txt": "b\n"})
	parent := s.run(1)
	put(t, parent.Folder(), files{"a.txt": "parent\n"})
	s.branch("part", "main", files{"b.txt": "child\n", "new.txt": "n\n"})
	w := s.worktree("part")
	w.Target = "taskyard/42-fix"
	rev, err := s.rs.Snapshot(t.Context(), w, "coder")
	ok(t, err)
	o := task.MergeOrder{
		ID: 1, Repository: s.repo, Into: "taskyard/42-fix", Base: rev.Base, Head: rev.Head, Patch: rev.Patch, Method: task.MergeSquash,
		Message: "Part", Author: "helper", ParentTree: s.live(),
	}
	m := s.apply(o)
	put(t, parent.Folder(), files{"a.txt": "parent works\n"})
	refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeMoved, "moved while")
	m = s.apply(o)
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	want := files{"a.txt": "parent works\n", "b.txt": "child\n", "new.txt": "n\n"}
	for name, want := range want {
		b, err := os.ReadFile(filepath.Join(parent.Folder(), name))
		ok(t, err)
		same(t, name, string(b), want)
	}
	same(t, "status", testkit.Git(t, parent.Folder(), "status", "--porcelain"), "")
	t.Run("a merge into the parent branch without its worktree waits", func(t *testing.T) {
		o.ParentTree = task.Worktree{}
		put(t, parent.Folder(), files{"c.txt": "c\n"})
		m := s.apply(o)
		if m.Code == "" {
			refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeWaits, "a task works on that branch")
		}
	})
	parent.Close(t.Context(), true)
}

func TestProblemsOfARepositoryAreReported(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "one\n"})
	project := task.Project{Key: "web", Repository: s.repo, DefaultBranch: "main", BranchPrefix: "taskyard/", Merge: &task.Merge{Into: "main"}}
	examine := func(change func(*task.Project)) string {
		p := project
		if change != nil {
			change(&p)
		}
		var b strings.Builder
		for _, f := range s.rs.Examine(t.Context(), &p) {
			b.WriteString(string(f.Level) + ": " + strings.ReplaceAll(f.Message, s.repo, "REPO") + " " + f.Fix + "\n")
		}
		return b.String()
	}
	fine := examine(nil)
	if strings.Contains(fine, "error:") || strings.Contains(fine, "warning:") || strings.Count(fine, "ok:") != 4 {
		t.Errorf("found:\n%s", fine)
	}
	for name, c := range map[string]struct {
		change func(*task.Project)
		words  string
	}{
		"a missing path":   {func(p *task.Project) { p.Repository += "-no" }, "REPO-no cannot be used: there is no such folder"},
		"not a repository": {func(p *task.Project) { p.Repository = s.runs; ok(t, os.MkdirAll(s.runs, 0o755)) }, "it is not a Git repository"},
		"no such branch":   {func(p *task.Project) { p.DefaultBranch = "trunk" }, "error: It has no branch trunk."},
		"no such target":   {func(p *task.Project) { p.Merge = &task.Merge{Into: "stable"} }, "error: It has no branch stable."},
		"a prefix in use":  {func(p *task.Project) { p.BranchPrefix = "main/" }, "error: A branch main leaves no place for branches main/"},
		"a relative path":  {func(p *task.Project) { p.Repository = "here" }, "it is not an absolute path"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := examine(c.change); !strings.Contains(got, c.words) {
				t.Errorf("got:\n%s\nwant %s", got, c.words)
			}
		})
	}
	t.Run("warnings", func(t *testing.T) {
		s.write(files{"a.txt": "local\n", ".git/shallow": s.git("rev-parse", "main") + "\n"})
		s.write(files{"sub/.gitattributes": "*.bin filter=lfs\n", ".gitmodules": "x\n"})
		s.git("add", "sub", ".gitmodules")
		s.git("commit", "-q", "-m", "attributes")
		s.write(files{".git/index.lock": "x"})
		got := examine(nil)
		for _, words := range []string{
			"warning: It is locked by REPO/.git/index.lock", "warning: It is a shallow clone", "warning: Files pass through a filter",
			"warning: It has submodules", "warning: Branch main is checked out in REPO: it has local changes there: a.txt. Commit or stash them. Merges into it wait until then.",
		} {
			if !strings.Contains(got, words) {
				t.Errorf("%q is not in:\n%s", words, got)
			}
		}
		if _, err := os.Stat(filepath.Join(s.repo, ".git/index.lock")); err != nil {
			t.Error("the lock of another process was removed")
		}
	})
	t.Run("a partial clone", func(t *testing.T) {
		const words = "warning: It is a partial clone, or a sparse one."
		s.git("config", "remote.origin.promisor", "true")
		if got := examine(nil); !strings.Contains(got, words) {
			t.Errorf("it is not said:\n%s", got)
		}
		s.git("config", "--unset", "remote.origin.promisor")
		if got := examine(nil); strings.Contains(got, words) {
			t.Error(got)
		}
	})
	t.Run("another account's repository", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give files away")
		}
		const words = "warning: It belongs to another account, which cannot read what the server writes there."
		if got := examine(nil); strings.Contains(got, words) {
			t.Error(got)
		}
		ok(t, os.Chown(filepath.Join(s.repo, ".git/objects"), 65534, 65534))
		if got := examine(nil); !strings.Contains(got, words+" Run: git -C "+s.repo+" config core.sharedRepository all") {
			t.Errorf("it is not said:\n%s", got)
		}
		s.git("config", "core.sharedRepository", "all")
		if got := examine(nil); strings.Contains(got, words) {
			t.Error(got)
		}
	})
}
