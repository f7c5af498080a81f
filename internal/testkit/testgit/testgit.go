// Package testgit gives tests a small real Git repository, and the service its
// way into it. The TestMain of the tests must call runner.HelperMain: checks are
// kept by the test binary.
package testgit

import (
	"os"
	"path/filepath"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/repository"
)

// Open returns what the service asks of repositories.
func Open(t testing.TB) *repository.Repositories {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rs := repository.New(repository.Options{Runs: dir})
	t.Cleanup(func() {
		if err := rs.Close(); err != nil {
			t.Error(err)
		}
	})
	return rs
}

// Repo is a repository with a work tree, on whose branch main it begins.
type Repo struct {
	t   testing.TB
	Dir string
}

// New makes a repository with files on its branch main: path and content of
// each.
func New(t testing.TB, files map[string]string) *Repo {
	t.Helper()
	return &Repo{t: t, Dir: testkit.Repository(t, files)}
}

// Commit puts files on a branch, which begins at main unless it is there; an
// empty content deletes a file. The work tree stays as it is.
func (r *Repo) Commit(branch string, files map[string]string) {
	r.t.Helper()
	tree := filepath.Join(r.t.TempDir(), "tree")
	if testkit.Git(r.t, r.Dir, "branch", "--list", branch) == "" {
		testkit.Git(r.t, r.Dir, "branch", branch, "main")
	}
	testkit.Git(r.t, r.Dir, "worktree", "add", "-q", tree, branch)
	r.Write(tree, files)
	testkit.Git(r.t, tree, "add", "-A")
	testkit.Git(r.t, tree, "commit", "-q", "-m", "Change")
	testkit.Git(r.t, r.Dir, "worktree", "remove", "--force", tree)
}

// Write writes files below a folder; an empty content deletes one.
func (r *Repo) Write(dir string, files map[string]string) {
	r.t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o750)
		if err == nil && content == "" {
			err = os.Remove(path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}
