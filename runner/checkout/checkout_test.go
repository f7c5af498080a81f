package checkout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
)

// site is a repository with the branch of task 42, and a folder for worktrees.
type site struct {
	t         *testing.T
	repo, dir string
}

const branch = "taskyard/42-fix-the-login"

func newSite(t *testing.T) *site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	s := &site{t: t, repo: testkit.Repository(t, map[string]string{"a.txt": "one\n"}), dir: filepath.Join(dir, "trees", "web-42")}
	testkit.Git(s.t, s.repo, "branch", branch)
	testkit.Git(s.t, s.repo, "branch", "taskyard/420-another")
	return s
}

func ok(t *testing.T, err error) {
	t.Helper()
	testkit.NoError(t, err)
}

func (s *site) write(dir, name, text string) {
	s.t.Helper()
	ok(s.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func (s *site) wantFile(name, want string) {
	s.t.Helper()
	if b, err := os.ReadFile(filepath.Join(s.dir, name)); err != nil || string(b) != want {
		s.t.Errorf("%s contains %q, want %q: %v", name, b, want, err)
	}
}

// work makes a commit on the branch of the task, as its agent does.
func (s *site) work(name, text string) string {
	s.t.Helper()
	tree := filepath.Join(s.t.TempDir(), "agent")
	testkit.Git(s.t, s.repo, "worktree", "add", "-q", tree, branch)
	s.write(tree, name, text)
	testkit.Git(s.t, tree, "add", "-A")
	testkit.Git(s.t, tree, "commit", "-q", "-m", "work")
	testkit.Git(s.t, s.repo, "worktree", "remove", tree)
	return testkit.Git(s.t, s.repo, "rev-parse", branch)
}

func (s *site) options() Options {
	return Options{Repository: s.repo, Pattern: "taskyard/42", Dir: s.dir}
}

func (s *site) checkout(o Options) Done {
	s.t.Helper()
	done, err := Checkout(s.t.Context(), o)
	ok(s.t, err)
	head, tip := testkit.Git(s.t, o.Dir, "rev-parse", "HEAD"), testkit.Git(s.t, s.repo, "rev-parse", branch)
	if head != done.Commit || tip != done.Commit {
		s.t.Errorf("got %+v, but HEAD is %s", done, head)
	}
	return done
}

// refused is checkout that must fail with this message.
func (s *site) refused(o Options, want string) {
	s.t.Helper()
	if done, err := Checkout(s.t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
		s.t.Errorf("got %+v, %v; want an error with %q", done, err, want)
	}
}

func TestACheckoutFollowsTheBranch(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if done := s.checkout(s.options()); done.Branch != branch || done.From != "" {
		t.Errorf("%+v", done)
	}
	first := testkit.Git(s.t, s.repo, "rev-parse", branch)
	s.write(s.dir, "mine.txt", "local\n")
	s.work("b.txt", "two\n") // the agent can still use the branch
	if done := s.checkout(s.options()); done.From != first {
		t.Errorf("got %+v, want it to start at %s", done, first)
	}
	s.wantFile("b.txt", "two\n")
	s.wantFile("mine.txt", "local\n")
	if state := testkit.Git(s.t, s.dir, "status", "--porcelain"); state != "?? mine.txt" {
		t.Errorf("got the status %q", state)
	}
	s.checkout(s.options()) // nothing has changed

	testkit.Git(s.t, s.repo, "update-ref", "refs/heads/"+branch, first) // the agent rewrote its branch
	s.checkout(s.options())
	if _, err := os.Stat(filepath.Join(s.dir, "b.txt")); !os.IsNotExist(err) {
		t.Errorf("b.txt is still there: %v", err)
	}
}

func TestNothingLocalIsLost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.checkout(s.options())
	s.write(s.dir, "a.txt", "mine\n")
	s.work("a.txt", "theirs\n")
	s.refused(s.options(), "local changes in "+s.dir+" are in the way")
	s.wantFile("a.txt", "mine\n")

	testkit.Git(s.t, s.dir, "commit", "-q", "-am", "mine")
	s.refused(s.options(), "has commits that "+branch+" does not have")
	testkit.Git(s.t, s.dir, "push", "-q", "--force", ".", "HEAD:"+branch)
	s.checkout(s.options())
	s.wantFile("a.txt", "mine\n")

	testkit.Git(s.t, s.dir, "switch", "-q", "-c", "own")
	s.refused(s.options(), "has the branch own checked out")
	ok(t, os.RemoveAll(s.dir)) // as a person would
	s.checkout(s.options())
	s.wantFile("a.txt", "mine\n")
}

func TestACheckoutRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	ok(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"$0 $*\" >> "+ran+"\ncat\n"), 0o700))
	s.work("b.txt", "two\n")
	s.work(".gitattributes", "* filter=evil diff=evil merge=evil\n")
	for _, name := range []string{"post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc", "post-merge"} {
		ok(t, os.Symlink(program, filepath.Join(s.repo, ".git", "hooks", name)))
	}
	for _, name := range []string{
		"filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "core.fsmonitor", "core.sshCommand",
		"core.alternateRefsCommand", "diff.evil.textconv", "credential.helper", "core.gitProxy",
	} {
		testkit.Git(s.t, s.repo, "config", name, program)
	}
	testkit.Git(s.t, s.repo, "config", "filter.evil.required", "true")
	clone := filepath.Join(t.TempDir(), "clone")
	ok(t, os.CopyFS(clone, os.DirFS(s.repo)))
	ok(t, os.RemoveAll(ran)) // what the Git of the test ran

	s.checkout(s.options())
	s.wantFile("b.txt", "two\n")
	far := Options{Repository: clone, Remote: s.repo, Pattern: "taskyard/42", Dir: s.dir + "-far"}
	s.checkout(far)
	ok(t, os.WriteFile(filepath.Join(s.dir+"-far", "b.txt"), []byte("mine\n"), 0o600))
	_, err := Checkout(t.Context(), far)
	ok(t, err)
	far.Remote = "ssh://127.0.0.1:1/x"
	s.refused(far, "could not be read")
	far.Remote = "ext::" + program
	s.refused(far, "could not be read")
	if b, err := os.ReadFile(ran); !os.IsNotExist(err) {
		t.Errorf("these programs were run:\n%s", b)
	}
}

func TestACheckoutFetchesIntoAClone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	clone := filepath.Join(t.TempDir(), "clone")
	testkit.Git(s.t, s.repo, "clone", "-q", "--single-branch", "-b", "main", s.repo, clone)
	ok(t, os.Mkdir(filepath.Join(clone, "below"), 0o755))
	s.work("b.txt", "two\n")
	o := Options{Repository: filepath.Join(clone, "below"), Remote: "origin", Pattern: "taskyard/42", Dir: s.dir}
	s.checkout(o)
	s.work("b.txt", "three\n")
	s.checkout(o)
	s.wantFile("b.txt", "three\n")
	s.write(s.dir, "b.txt", "four\n")
	testkit.Git(s.t, s.dir, "commit", "-q", "-am", "mine")
	testkit.Git(s.t, s.dir, "push", "-q", "origin", "HEAD:"+branch)
	s.checkout(o)
	o.Remote = filepath.Join(clone, "nothing")
	s.refused(o, "could not be read")
	o.Repository, o.Remote = t.TempDir(), s.repo
	s.refused(o, "is in no clone of the repository")
}

func TestACheckoutReportsWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct {
		name, want string
		change     func(*Options)
	}{
		{"the repository is on another machine", "there is no such folder; in a clone of it", func(o *Options) { o.Repository += "-gone" }},
		{
			"no run has started", "has no branch taskyard/7-words yet: the first run of the task creates it; without a run, create it on main",
			func(o *Options) { o.Pattern, o.New, o.From = "taskyard/7", "taskyard/7-words", "main" },
		},
		{"the branch was deleted", "has no branch taskyard/42-x: it is deleted", func(o *Options) { o.Branch = "taskyard/42-x" }},
		{"the folder contains something else", "is not a worktree of", func(o *Options) { o.Dir = filepath.Dir(s.repo) }},
		{"the folder is that of the repository", "is not a worktree of", func(o *Options) { o.Dir = s.repo }},
	} {
		o := s.options()
		c.change(&o)
		t.Run(c.name, func(t *testing.T) { s.refused(o, c.want) })
	}
	testkit.Git(s.t, s.repo, "branch", "taskyard/42-other")
	s.refused(s.options(), "has 2 branches of this task: "+branch+", taskyard/42-other")
	o := s.options()
	o.Branch = branch
	s.checkout(o)
}

func TestACheckoutWritesThroughNoLinkOfTheRepository(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.checkout(s.options())
	admin, outside := testkit.Git(t, s.dir, "rev-parse", "--absolute-git-dir"), t.TempDir()
	s.write(outside, "victim", "precious\n")
	ok(t, os.RemoveAll(filepath.Join(admin, "taskyard")))
	ok(t, os.Symlink(outside, filepath.Join(admin, "taskyard")))
	ok(t, os.Symlink(filepath.Join(outside, "victim"), filepath.Join(admin, "index.taskyard")))
	s.work("b.txt", "two\n")
	s.checkout(s.options())
	s.wantFile("b.txt", "two\n")
	entries, err := os.ReadDir(outside)
	ok(t, err)
	if b, err := os.ReadFile(filepath.Join(outside, "victim")); err != nil || string(b) != "precious\n" || len(entries) != 1 {
		t.Errorf("got %d entries, the file %q, %v", len(entries), b, err)
	}
}
