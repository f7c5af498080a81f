package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// repository is a Git repository as a plan names it.
type repository struct {
	path   string
	git    git    // called in it
	common string // its folder of objects and references
	head   string // commit
	format string // sha1 or sha256
}

// openRepository looks at a repository. Errors: a *UnusableError that says why it
// cannot have worktrees; the end of ctx.
func openRepository(ctx context.Context, path string) (*repository, error) {
	g, err := findGit()
	if err != nil {
		return nil, err
	}
	refuse := func(format string, args ...any) (*repository, error) {
		return nil, &UnusableError{fmt.Sprintf("workspace worktree:%s: ", path) + fmt.Sprintf(format, args...)}
	}
	info, err := os.Stat(path)
	switch {
	case !filepath.IsAbs(path):
		return refuse("it is not an absolute path")
	case err != nil && os.IsNotExist(err):
		return refuse("there is no such folder")
	case err != nil:
		return refuse("it cannot be used: %v", err)
	case !info.IsDir():
		return refuse("it is not a folder")
	}
	r := &repository{path: path, git: g.at(path)}
	bare, err := r.git.run(ctx, nil, "rev-parse", "--is-bare-repository")
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && strings.Contains(err.Error(), "dubious ownership"):
		return refuse("it belongs to another account than the server's; to trust it all "+
			"the same: git config --global --add safe.directory %s", path)
	case err != nil:
		return refuse("it is not a Git repository that can be read (%s)", reason(err))
	case bare == "true":
		return refuse("it is a bare repository: name one with files")
	}
	if top, err := r.git.run(ctx, nil, "rev-parse", "--show-toplevel"); err != nil || !sameFolder(top, path) {
		return refuse("it is a folder within a repository, or its private part: name the repository itself")
	}
	if r.head, err = r.git.run(ctx, nil, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		return refuse("it has no commit yet: make one first")
	}
	said, err := r.git.run(ctx, nil, "rev-parse", "--path-format=absolute", "--git-common-dir", "--show-object-format")
	var ok bool
	if r.common, r.format, ok = strings.Cut(said, "\n"); err != nil || !ok {
		return refuse("it could not be read (%v)", err)
	}
	return r, nil
}

func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// reason is what Git said, for people.
func reason(err error) string {
	var e *gitError
	if errors.As(err, &e) {
		return e.text
	}
	return err.Error()
}

// tip returns the commit of a branch, "" when there is none.
func (r *repository) tip(ctx context.Context, branch string) string {
	commit, err := r.git.run(ctx, nil, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch+"^{commit}")
	if err != nil {
		return ""
	}
	return commit
}

// free returns the first name of a branch that is not taken.
func (r *repository) free(ctx context.Context, branch string) string {
	name := branch
	for n := 2; r.tip(ctx, name) != "" && n < 1000; n++ {
		name = fmt.Sprintf("%s-%d", branch, n)
	}
	return name
}

// holds reports whether one commit is among the forefathers of another.
func (r *repository) holds(ctx context.Context, commit, forefather string) bool {
	_, err := r.git.run(ctx, nil, "merge-base", "--is-ancestor", forefather, commit)
	return err == nil
}

// setting returns a setting of the repository when it is one of the words.
func (r *repository) setting(ctx context.Context, name string, words ...string) string {
	value, err := r.git.run(ctx, nil, "config", "--get", name)
	for _, w := range words {
		if err == nil && strings.EqualFold(value, w) {
			return w
		}
	}
	return ""
}
