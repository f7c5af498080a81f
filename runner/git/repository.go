package git

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taskyard/task"
)

// Repository is a Git repository.
type Repository struct {
	Path   string
	Git    Git    // runs in it, with its own configuration
	Common string // its folder of objects and references
	Head   string // commit; "" before the first one, or if HEAD names a branch that does not exist
	Bare   bool
	format string // sha1 or sha256
	main   bool   // it is not one of several worktrees, or the first of them
}

// UnusableError says why a folder cannot be used as a repository.
type UnusableError struct{ Reason string }

func (e *UnusableError) Error() string { return e.Reason }

// Open opens a repository. Errors: ErrMissing; an *UnusableError; the cause of
// ctx.
func Open(ctx context.Context, path string) (*Repository, error) {
	g, err := Find()
	if err != nil {
		return nil, err
	}
	refuse := func(format string, args ...any) (*Repository, error) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &UnusableError{fmt.Sprintf(format, args...)}
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
	r := &Repository{Path: path, Git: g.At(path)}
	// A single call, because starting a process is expensive. It prints one
	// line per answer; the last one is missing if there is no commit.
	out, err := r.Git.Run(ctx, nil, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--is-inside-work-tree",
		"--show-prefix", "--absolute-git-dir", "--git-common-dir", "--show-object-format", "--revs-only", "HEAD^{commit}")
	lines := append(strings.Split(out, "\n"), "")
	switch {
	case err != nil && strings.Contains(err.Error(), "dubious ownership"):
		return refuse("it belongs to another account than the server's; to trust it all "+
			"the same: git config --global --add safe.directory %s", path)
	case err != nil:
		return refuse("it is not a Git repository that can be read (%s)", Reason(err))
	case len(lines) != 7 && len(lines) != 8:
		return refuse("it could not be read: Git says %q", task.ClipText(out, 200))
	}
	r.Bare, r.Common, r.format, r.Head = lines[0] == "true", lines[4], lines[5], lines[6]
	r.main = lines[3] == r.Common
	top := lines[1] == "true" && lines[2] == ""
	if r.Bare {
		top = SameFolder(lines[3], path)
	}
	if !top {
		return refuse("it is a folder within a repository, or its private part: name the repository itself")
	}
	if r.Git, err = r.Git.withoutHooks(ctx); err != nil {
		return refuse("its configuration cannot be read (%s)", Reason(err))
	}
	return r, nil
}

// Worktree returns Git for the repository as a worktree sees it, by the folder
// of the worktree's metadata, which may have a configuration of its own.
func (r *Repository) Worktree(ctx context.Context, dir, admin string) (Git, error) {
	return r.Git.At(dir, "--git-dir="+admin).withoutHooks(ctx)
}

// withoutHooks returns the same Git without the hooks that the configuration
// defines: Git 2.54 and later runs them whatever core.hooksPath says, and can
// disable all of them only by their names.
func (g Git) withoutHooks(ctx context.Context) (Git, error) {
	var names []string
	err := g.EachName(ctx, func(setting string) {
		if rest, ok := strings.CutPrefix(setting, "hook."); ok {
			if end := strings.LastIndexByte(rest, '.'); end >= 0 && !slices.Contains(names, rest[:end]) {
				names = append(names, rest[:end])
			}
		}
	}, "config", "--null", "--name-only", "--list")
	if err != nil || len(names) == 0 {
		return g, err
	}
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(names))}
	for i, name := range names {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=hook.%s.enabled", i, name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=false", i))
	}
	return g.With(env...), nil
}

// SameFolder reports whether two paths lead to the same folder.
func SameFolder(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// Tip returns the commit of a branch, "" if there is none.
func (r *Repository) Tip(ctx context.Context, branch string) string {
	return r.Commit(ctx, "refs/heads/"+branch)
}

// Commit returns the commit that a reference points to, "" if there is none.
func (r *Repository) Commit(ctx context.Context, ref string) string {
	commit, err := r.Git.Run(ctx, nil, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if err != nil {
		return ""
	}
	return commit
}

// Free returns the first branch name, derived from branch, that is not in use.
func (r *Repository) Free(ctx context.Context, branch string) string {
	name := branch
	for n := 2; r.Tip(ctx, name) != "" && n < 1000; n++ {
		name = fmt.Sprintf("%s-%d", branch, n)
	}
	return name
}

// IsAncestor reports whether forefather is an ancestor of commit, or the same
// commit.
func (r *Repository) IsAncestor(ctx context.Context, commit, forefather string) bool {
	_, err := r.Git.Run(ctx, nil, "merge-base", "--is-ancestor", forefather, commit)
	return err == nil
}

// Move points a branch to a commit if it currently points to old: a commit, or
// "" if it must not exist. It returns a *Error, also if the branch points
// elsewhere.
func (r *Repository) Move(ctx context.Context, branch, commit, old string) error {
	old = cmp.Or(old, r.Zero())
	_, err := r.Git.Run(ctx, nil, "update-ref", "-m", "taskyard", "refs/heads/"+branch, commit, old)
	return err
}

// Zero returns the null object name.
func (r *Repository) Zero() string {
	if r.format == "sha256" {
		return strings.Repeat("0", 64)
	}
	return strings.Repeat("0", 40)
}

// Checkout is a folder in which a branch of a repository is checked out.
type Checkout struct{ Folder, Branch string }

// Checkouts lists the folders in which branches are checked out, including the
// repository itself.
func (r *Repository) Checkouts(ctx context.Context) (list []Checkout, err error) {
	out, err := r.Git.Run(ctx, nil, "worktree", "list", "--porcelain", "-z")
	folder := ""
	for line := range strings.SplitSeq(out, "\x00") {
		if name, ok := strings.CutPrefix(line, "worktree "); ok {
			if folder == "" && r.main { // Git names the folder of its data if that is elsewhere
				name = r.Path
			}
			folder = name
		}
		if branch, ok := strings.CutPrefix(line, "branch refs/heads/"); ok {
			list = append(list, Checkout{folder, branch})
		}
	}
	return list, err
}

// core returns the core.* settings of the repository, keyed by the rest of
// their names in lower case; empty if there are none.
func (r *Repository) core(ctx context.Context) map[string]string {
	found := map[string]string{}
	out, err := r.Git.Run(ctx, nil, "config", "--null", "--get-regexp", `^core\.`)
	if err != nil {
		return found
	}
	for setting := range strings.SplitSeq(out, "\x00") {
		name, value, _ := strings.Cut(strings.TrimPrefix(setting, "core."), "\n")
		found[name] = value // the last one applies
	}
	return found
}

// plainSections are configuration sections that contain no passwords, except in
// addresses and programs.
var plainSections = []string{
	"advice", "blame", "branch", "color", "column", "commit", "core", "diff", "extensions", "feature", "fetch", "format", "gc", "grep",
	"gui", "i18n", "index", "init", "log", "maintenance", "merge", "pack", "pull", "push", "rebase", "receive", "remote", "rerere",
	"status", "submodule", "tag", "taskyard", "transfer", "user", "versionsort",
}

// programs are core settings that name programs, whose arguments may be
// passwords.
var programs = []string{"core.askpass", "core.gitproxy", "core.sshcommand"}

// hasCredentials reports whether a text is an address that contains credentials: an
// account name alone is not enough for SSH.
func hasCredentials(text string) bool {
	scheme, rest, _ := strings.Cut(text, "://")
	authority, _, _ := strings.Cut(rest, "/")
	account, _, named := strings.Cut(authority, "@")
	return named && (strings.Contains(account, ":") || !strings.HasSuffix(scheme, "ssh"))
}

// Readable reports whether agents may read the repository's metadata, because
// its configuration contains no credentials. CI programs, among others, write
// passwords there.
func (r *Repository) Readable(ctx context.Context) bool {
	out, err := r.Git.Run(ctx, nil, "config", "--local", "--null", "--list")
	if err != nil {
		return false
	}
	for setting := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		name, value, _ := strings.Cut(setting, "\n")
		section, _, _ := strings.Cut(name, ".")
		further := name == "extensions.worktreeconfig" // Git then reads other files too
		if further || !slices.Contains(plainSections, section) || slices.Contains(programs, name) ||
			hasCredentials(name) || hasCredentials(value) {
			return false
		}
	}
	return true
}
