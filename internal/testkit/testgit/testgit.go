// Package testgit gives tests a small real Git repository, and the service its
// way into it. The TestMain of the tests must call runner.HelperMain: checks are
// kept by the test binary.
package testgit

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &Repo{t: t, Dir: dir}
	r.git(dir, "init", "-q", "-b", "main")
	r.Write(dir, files)
	r.git(dir, "add", "-A")
	r.git(dir, "commit", "-q", "-m", "Begin")
	return r
}

// Commit puts files on a branch, which begins at main unless it is there; an
// empty content deletes a file. The work tree stays as it is.
func (r *Repo) Commit(branch string, files map[string]string) {
	r.t.Helper()
	tree := filepath.Join(r.t.TempDir(), "tree")
	if run(r.t.Context(), r.Dir, "rev-parse", "-q", "--verify", "refs/heads/"+branch) != nil {
		r.git(r.Dir, "branch", branch, "main")
	}
	r.git(r.Dir, "worktree", "add", "-q", tree, branch)
	r.Write(tree, files)
	r.git(tree, "add", "-A")
	r.git(tree, "commit", "-q", "-m", "Change")
	r.git(r.Dir, "worktree", "remove", "--force", tree)
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

func (r *Repo) git(dir string, args ...string) {
	r.t.Helper()
	if err := run(r.t.Context(), dir, args...); err != nil {
		r.t.Fatalf("git %v: %v", args, err)
	}
}

func run(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "maintenance.auto=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Test",
		"GIT_AUTHOR_EMAIL=test@localhost", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@localhost")
	return cmd.Run()
}
