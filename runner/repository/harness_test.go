//go:build linux

package repository

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/tools"
	"taskyard/service"
	"taskyard/task"
)

var _ service.Repositories = (*Repositories)(nil)

// The test binary is also the keeper of a command, and the server that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case tools.ToolShellArg:
			testkit.EndHelper(tools.ToolShellMain(os.Args[2:]))
		case mergerArg:
			testkit.EndHelper(mergerMain(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// site is a repository with the folder of the runs.
type site struct {
	t    testing.TB
	repo string
	runs string
	rs   *Repositories
}

type files = map[string]string

func newSite(t testing.TB, first files) *site {
	t.Helper()
	s := &site{t: t, repo: testkit.Repository(t, first), runs: filepath.Join(t.TempDir(), "runs")}
	s.rs = New(Options{Runs: s.runs, Redact: task.NewRedactor("hush-hush").Text})
	t.Cleanup(func() { ok(t, s.rs.Close()) })
	return s
}

func ok(t testing.TB, err error) {
	t.Helper()
	testkit.NoError(t, err)
}

func same(t testing.TB, what, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("%s is\n%s\nwant\n%s", what, got, want)
	}
}

// git calls Git as a person would.
func (s *site) git(args ...string) string {
	s.t.Helper()
	return testkit.Git(s.t, s.repo, args...)
}

// write writes files into the work tree; an empty text removes a file.
func (s *site) write(list files) {
	s.t.Helper()
	for name, text := range list {
		file := filepath.Join(s.repo, name)
		if text == "" {
			ok(s.t, os.RemoveAll(file))
			continue
		}
		ok(s.t, os.MkdirAll(filepath.Dir(file), 0o755))
		ok(s.t, os.WriteFile(file, []byte(text), 0o644))
	}
}

// branch makes a commit of changed files on a new branch that starts at another, and
// leaves main checked out.
func (s *site) branch(name, from string, list files) string {
	s.t.Helper()
	s.git("checkout", "-q", "-B", name, from)
	s.write(list)
	head := s.commit(name)
	s.git("checkout", "-q", "main")
	return head
}

func (s *site) commit(message string) string {
	s.t.Helper()
	s.git("add", "-A")
	s.git("commit", "-q", "--allow-empty", "-m", message)
	return s.git("rev-parse", "HEAD")
}

// revision returns that of a pushed branch.
func (s *site) revision(branch string) *task.Revision {
	s.t.Helper()
	rev, err := s.rs.Snapshot(s.t.Context(), s.worktree(branch), "coder")
	ok(s.t, err)
	return rev
}

func (s *site) worktree(branch string) task.Worktree {
	return task.Worktree{TaskID: 42, Title: "Fix it", Repository: s.repo, Target: "main", Branch: branch}
}

// order returns the merge of a branch.
func (s *site) order(id task.ID, branch string, checks ...task.Check) task.MergeOrder {
	s.t.Helper()
	rev := s.revision(branch)
	return task.MergeOrder{
		ID: id, TaskID: 42, Repository: s.repo, Into: "main", Base: rev.Base, Head: rev.Head, Branch: branch, Patch: rev.Patch,
		Method: task.MergeSquash, Message: "Fix it\n\nTask 42", Author: "coder", Checks: checks,
	}
}

func (s *site) apply(o task.MergeOrder) *task.Merged {
	s.t.Helper()
	m, err := s.rs.Apply(s.t.Context(), o)
	ok(s.t, err)
	return m
}

// refusal checks that an error is one for people, with this code and text.
func refusal(t testing.TB, err error, code task.Code, words string) {
	t.Helper()
	if e, ok := errors.AsType[*task.Error](err); !ok || e.Code != code || !strings.Contains(e.Message, words) {
		t.Errorf("got error %v, want %s with %q", err, code, words)
	}
}

// confined skips a test where nothing can confine commands.
func confined(t testing.TB) {
	t.Helper()
	if tools.Level(tools.Options{}) == "off" {
		t.Skip("nothing on this machine confines a command")
	}
}
