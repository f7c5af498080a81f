package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Private is our own repository on top of another one's objects. It has its own
// configuration, so that no filter, monitor or helper of the other one is ever
// executed.
type Private struct {
	dir  string
	repo *Repository
}

// Private returns the private repository in a folder, which may not exist yet.
func (r *Repository) Private(dir string) Private { return Private{dir, r} }

// settings lists the core.* settings of a repository that determine its file
// contents, with the values that are copied.
var settings = map[string][]string{
	"sharedrepository": {"group", "all", "world", "true"}, "filemode": {"false"}, "symlinks": {"false"},
	"autocrlf": {"true", "input"}, "eol": {"lf", "crlf"},
}

// Make creates the repository. exclude contains the ignore patterns.
func (p Private) Make(ctx context.Context, exclude string) error {
	for _, name := range []string{"objects", "refs", "info"} {
		if err := os.MkdirAll(filepath.Join(p.dir, name), 0o700); err != nil {
			return err
		}
	}
	config := "[core]\n\trepositoryformatversion = 1\n\tbare = false\n"
	core := p.repo.core(ctx)
	for name, words := range settings {
		if value := strings.ToLower(core[name]); slices.Contains(words, value) {
			config += "\t" + name + " = " + value + "\n"
		}
	}
	config += "[extensions]\n\tobjectFormat = " + p.repo.format + "\n"
	for name, text := range map[string]string{"config": config, "HEAD": "ref: refs/heads/none\n", "info/exclude": exclude} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Whole reports whether the repository is complete: it may be in a folder that
// other programs clean.
func (p Private) Whole() bool {
	for _, name := range []string{"config", "HEAD", "objects", "refs", "info/exclude"} {
		if _, err := os.Lstat(filepath.Join(p.dir, name)); err != nil {
			return false
		}
	}
	return true
}

// CopyIndex copies the index of a worktree, by the folder of its metadata. That
// of a split index shares a file, which lies beside it.
func (p Private) CopyIndex(admin string) error {
	list, err := os.ReadDir(admin)
	if err != nil {
		return err
	}
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), "sharedindex.") {
			continue
		}
		if err := os.Symlink(filepath.Join(admin, e.Name()), filepath.Join(p.dir, e.Name())); err != nil && !os.IsExist(err) {
			return err
		}
	}
	index := filepath.Join(admin, "index")
	if info, err := os.Lstat(index); err == nil && !info.Mode().IsRegular() { // reading a pipe would block forever
		return fmt.Errorf("%s is not a regular file", index)
	}
	b, err := os.ReadFile(index)
	if err != nil {
		return err
	}
	return os.WriteFile(p.Index(), b, 0o600)
}

// Index returns the path of its index.
func (p Private) Index() string { return filepath.Join(p.dir, "index") }

// In returns Git with a folder of files as its working tree.
func (p Private) In(work string) Git { return p.git(work).With("GIT_WORK_TREE=" + work) }

// Bare returns Git without a working tree: no attributes are read.
func (p Private) Bare() Git { return p.git(p.dir, "-c", "core.bare=true") }

// Account returns Git without a working tree, with the configuration of the
// server's account.
func (p Private) Account() Git { return p.own(p.dir, "-c", "core.bare=true") }

func (p Private) git(dir string, args ...string) Git {
	return p.own(dir, append(args, "-c", "core.attributesFile=/dev/null")...).
		With("GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1")
}

// own also reads from the repository where its history ends: that of a shallow
// clone does before the first commit.
func (p Private) own(dir string, args ...string) Git {
	return p.repo.Git.At(dir, append(args, "-c", "core.splitIndex=false")...).With(
		"GIT_DIR="+p.dir, "GIT_INDEX_FILE="+p.Index(), "GIT_OBJECT_DIRECTORY="+filepath.Join(p.repo.Common, "objects"),
		"GIT_SHALLOW_FILE="+filepath.Join(p.repo.Common, "shallow"),
		"GIT_AUTHOR_NAME=Taskyard", "GIT_AUTHOR_EMAIL=taskyard@localhost",
	)
}
