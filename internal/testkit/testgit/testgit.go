// Package testgit provides a small real Git repository, and the service's access to
// it. The TestMain of the tests must call runner.HelperMain, because checks run
// under a helper process of the test binary.
package testgit

import (
	"os"
	"path/filepath"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/repository"
)

// Open returns the repositories for the service.
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

// Repo is a repository with a working tree, starting on branch main.
type Repo struct {
	t   testing.TB
	Dir string
}

// New creates a repository with files on its branch main, by path.
func New(t testing.TB, files map[string]string) *Repo {
	t.Helper()
	return &Repo{t: t, Dir: testkit.Repository(t, files)}
}

// Commit commits files to a branch, which is created from main if needed; an
// empty content deletes a file. The working tree does not change.
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

// Write writes files below a folder; an empty content deletes a file.
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
