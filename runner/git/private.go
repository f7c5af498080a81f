package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Private is a repository of our own over the objects of another: its
// configuration is ours, so that no filter, monitor or helper that the other
// names is ever run.
type Private struct {
	dir  string
	repo *Repository
}

// Private returns that in a folder, whether it is made or not.
func (r *Repository) Private(dir string) Private { return Private{dir, r} }

// settings are those of a repository, of its core.*, that say how its files
// look, with the values that are copied.
var settings = map[string][]string{
	"sharedrepository": {"group", "all", "world", "true"}, "filemode": {"false"}, "symlinks": {"false"},
	"autocrlf": {"true", "input"}, "eol": {"lf", "crlf"},
}

// Make writes it. exclude are the patterns of ignored files.
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

// Index is the file of its index.
func (p Private) Index() string { return filepath.Join(p.dir, "index") }

// In is Git in it over a folder of files.
func (p Private) In(work string) Git { return p.git(work).With("GIT_WORK_TREE=" + work) }

// Bare is Git in it without files: no attributes are read.
func (p Private) Bare() Git { return p.git(p.dir, "-c", "core.bare=true") }

// git also reads from the repository where its history ends: that of a shallow
// clone does before the first commit.
func (p Private) git(dir string, args ...string) Git {
	g := p.repo.Git.At(dir, append(args, "-c", "core.attributesFile=/dev/null")...)
	return g.With(
		"GIT_DIR="+p.dir, "GIT_INDEX_FILE="+p.Index(), "GIT_OBJECT_DIRECTORY="+filepath.Join(p.repo.Common, "objects"),
		"GIT_SHALLOW_FILE="+filepath.Join(p.repo.Common, "shallow"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Taskyard", "GIT_AUTHOR_EMAIL=taskyard@localhost",
		"GIT_COMMITTER_NAME=Taskyard", "GIT_COMMITTER_EMAIL=taskyard@localhost",
	)
}
