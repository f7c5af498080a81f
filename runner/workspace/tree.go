package workspace

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"taskyard/runner/git"
	"taskyard/runner/remove"
	"taskyard/runner/textdiff"
	"taskyard/task"
)

// tree is the worktree of a run, and of its retries. Its state between two runs
// is in a state file outside the agent's folder.
type tree struct {
	dir    string // contains state, work and git
	repo   *git.Repository
	state  treeState
	author string // of commits if the task has a branch; "": Taskyard
}

// treeState is the state file.
type treeState struct {
	Repository string  `json:"repository"`
	Branch     string  `json:"branch"`
	Root       string  `json:"root"`           // commit on which the branch began
	Base       string  `json:"base"`           // commit on which the last run began
	Run        task.ID `json:"run"`            // the last run
	Admin      string  `json:"admin"`          // the repository's metadata folder of the worktree; "" before it is created
	Open       bool    `json:"open,omitempty"` // the last run has not been finished

	Parent string `json:"parent,omitempty"` // folder name of the worktree from whose state it began
	Merged string `json:"merged,omitempty"` // last commit that was merged there

	Task  bool   `json:"task,omitempty"`  // the branch belongs to a task: folder and branch stay between runs
	Agent string `json:"agent,omitempty"` // for a task: agent of the last run
	Ready bool   `json:"ready,omitempty"` // for a task: it was prepared
	Write *move  `json:"write,omitempty"` // for a task: files that are being written into the folder
}

// treeDir returns the folder for the worktree of a run.
func treeDir(o Options) string {
	return filepath.Join(filepath.Dir(o.Dir), task.TreeFolder(o.Origin).Name)
}

func (t *tree) work() string { return filepath.Join(t.dir, "work") }

// openTree creates the worktree of a run, or continues that of the run that it
// retries. Errors: those of Open.
func openTree(ctx context.Context, o Options, path string) (*tree, error) {
	repo, err := openRepository(ctx, path, o.Branch != "")
	if err != nil {
		return nil, err
	}
	t := &tree{dir: treeDir(o), repo: repo, author: o.Agent}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return nil, err
	}
	if t.dir, err = filepath.EvalSymlinks(t.dir); err != nil { // the form in which Git writes it
		return nil, err
	}
	defer t.lock()()
	err = git.RetryLocked(ctx, func() error {
		known := t.load() && t.state.Repository == path && repo.Tip(ctx, t.state.Branch) != ""
		switch {
		case known && (o.Branch == "" || o.Branch == t.state.Branch):
			return t.resumeWork(ctx, o)
		case known && t.state.Open && t.isLinked():
			t.finish(ctx, Options{Run: t.state.Run, Agent: o.Agent, Title: o.Title})
		}
		return t.begin(ctx, o)
	})
	var no *git.Error
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case git.IsLocked(err):
		return nil, &UnusableError{fmt.Sprintf("workspace worktree:%s: the repository is locked "+
			"(%s). If no Git works in it, delete that file", path, git.Reason(err))}
	case git.IsDiskFault(err):
		return nil, &SetupError{fmt.Sprintf("workspace worktree:%s: no worktree could be made (%s)", path, git.Reason(err))}
	case errors.As(err, &no):
		return nil, &UnusableError{fmt.Sprintf("workspace worktree:%s: no worktree could be made (%s)", path, git.Reason(err))}
	}
	return t, err
}

// openRepository opens the repository of a worktree. Errors: those of Open.
func openRepository(ctx context.Context, path string, bare bool) (*git.Repository, error) {
	repo, err := git.Open(ctx, path)
	var no *git.UnusableError
	switch {
	case errors.Is(err, git.ErrMissing):
		return nil, &UnusableError{"A worktree needs Git, which is not installed on this machine"}
	case errors.As(err, &no):
		return nil, &UnusableError{"workspace worktree:" + path + ": " + no.Reason}
	case err != nil:
		return nil, err
	case bare:
		return repo, nil
	case repo.Bare:
		return nil, &UnusableError{"workspace worktree:" + path + ": it is a bare repository: name one with files"}
	case repo.Head == "":
		return nil, &UnusableError{"workspace worktree:" + path + ": it has no commit yet: make one first"}
	}
	return repo, nil
}

// load loads the state file and reports whether there was one.
func (t *tree) load() bool {
	b, err := ReadIn(t.dir, stateName)
	return err == nil && json.Unmarshal(b, &t.state) == nil && t.state.Branch != ""
}

const stateName = "state.json"

// ReadIn reads a small regular file from a folder that an agent may have
// filled.
func ReadIn(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return readPlain(root, name, textdiff.MaxText)
}

const nextName = ".taskyard" // suffix of a file that is being written

// WriteIn replaces a file in a folder that an agent may have filled.
func WriteIn(dir, name string, b []byte, perm fs.FileMode) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	next := name + nextName
	if err := root.RemoveAll(next); err != nil {
		return err
	}
	f, err := root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Chmod(perm), f.Close()); err != nil { // whatever the umask is
		return err
	}
	return root.Rename(next, name)
}

func (t *tree) save() error {
	b, err := json.Marshal(t.state)
	if err != nil {
		return err
	}
	return WriteIn(t.dir, stateName, b, 0o600)
}

// begin creates a branch from the repository's current checkout, and its
// worktree.
func (t *tree) begin(ctx context.Context, o Options) error {
	if o.Branch != "" {
		return t.beginTask(ctx, o)
	}
	head, parent, err := t.from(ctx, o)
	if err != nil {
		return err
	}
	t.state = treeState{
		Repository: t.repo.Path, Branch: t.repo.Free(ctx, fmt.Sprintf("taskyard/run-%d", o.Origin)),
		Root: head, Base: head, Run: o.Run, Open: true, Parent: parent,
	}
	if err := t.clear(ctx); err != nil {
		return err
	}
	if err := t.save(); err != nil {
		return err
	}
	return t.add(ctx, "--no-track", "-b", t.state.Branch, t.work(), head)
}

// resumeWork continues the work of another run, or of an earlier attempt of this
// one.
func (t *tree) resumeWork(ctx context.Context, o Options) error {
	if t.state.Open && t.isLinked() && (t.state.Run != o.Run || t.isTaken()) { // it was lost: save what it left first
		t.finish(ctx, Options{Run: t.state.Run, Agent: o.Agent, Title: o.Title})
	}
	if t.state.Run != o.Run {
		tip := t.repo.Tip(ctx, t.state.Branch)
		if tip == "" { // it had left nothing
			return t.begin(ctx, o)
		}
		t.state.Run, t.state.Base = o.Run, tip
	}
	t.state.Open = true
	if t.state.Task {
		t.state.Agent = o.Agent
	}
	if err := t.save(); err != nil {
		return err
	}
	if t.isLinked() {
		if err := t.repair(ctx); err != nil || !t.state.Task {
			return err
		}
		return t.attach(ctx)
	}
	if err := t.clear(ctx); err != nil {
		return err
	}
	if t.state.Task {
		if err := t.free(ctx); err != nil {
			return err
		}
	}
	t.state.Ready, t.state.Write = false, nil
	return t.add(ctx, t.work(), t.state.Branch)
}

// isLinked reports whether folder and repository still refer to each other.
func (t *tree) isLinked() bool {
	if info, err := os.Lstat(t.work()); err != nil || !info.IsDir() || !t.isOurs() {
		return false
	}
	_, err := os.Stat(filepath.Join(t.dir, "git", "index"))
	return err == nil
}

// isOurs reports whether the repository's metadata under the state's name belongs
// to this worktree.
func (t *tree) isOurs() bool {
	all := filepath.Join(t.repo.Common, "worktrees")
	return t.state.Admin != "" && git.SameFolder(filepath.Dir(t.state.Admin), all) && t.ownsAdmin(t.state.Admin)
}

// ownerName is a file in the folder of all runs, and in the metadata folder of
// each of their worktrees, that identifies the owner.
const ownerName = "worktree-owner"

// owner returns the random name of the folder of all runs; "" if it never had a
// worktree.
func (t *tree) owner() string {
	b, err := ReadIn(filepath.Dir(t.dir), ownerName)
	if err != nil {
		return ""
	}
	return string(b)
}

// ownsAdmin reports whether a metadata folder belongs to this worktree. Servers
// that share a repository may have worktrees at the same path.
func (t *tree) ownsAdmin(admin string) bool {
	owner, err := ReadIn(admin, ownerName)
	return t.isAtPath(admin) && (err != nil || string(owner) == t.owner())
}

// isAtPath reports whether a metadata folder refers to the path of this worktree, or
// was displaced from it.
func (t *tree) isAtPath(admin string) bool {
	path := worktreePath(admin)
	return path == t.work() || path == t.displacedPath(admin)
}

// displacedPath returns the path that a displaced worktree of another server gets.
func (t *tree) displacedPath(admin string) string {
	return filepath.Join(t.dir, "elsewhere", filepath.Base(admin))
}

// worktreePath returns the path of the worktree that a metadata folder belongs
// to.
func worktreePath(admin string) string {
	b, err := ReadIn(admin, "gitdir")
	if err != nil {
		return ""
	}
	return filepath.Dir(strings.TrimSpace(string(b)))
}

// claim records this worktree's owner and path in the repository.
func (t *tree) claim() error {
	if err := t.makeOwner(); err != nil {
		return err
	}
	if err := WriteIn(t.state.Admin, ownerName, []byte(t.owner()), 0o600); err != nil {
		return err
	}
	return errors.Join(t.displace(), t.call(t.state.Admin, t.work()))
}

var ownerMu sync.Mutex // held while a name is generated

func (t *tree) makeOwner() error {
	ownerMu.Lock()
	defer ownerMu.Unlock()
	if t.owner() != "" {
		return nil
	}
	return WriteIn(filepath.Dir(t.dir), ownerName, []byte(rand.Text()), 0o600)
}

// displace moves the metadata of other servers' worktrees away from this path:
// Git removes one of two worktrees with the same path.
func (t *tree) displace() error {
	for _, admin := range t.adminFolders() {
		if worktreePath(admin) == t.work() && !t.ownsAdmin(admin) {
			if err := t.call(admin, t.displacedPath(admin)); err != nil {
				return err
			}
		}
	}
	return nil
}

// call sets the worktree path in a metadata folder.
func (t *tree) call(admin, path string) error {
	return WriteIn(admin, "gitdir", []byte(filepath.Join(path, ".git")+"\n"), 0o600)
}

// adminFolders lists the metadata folders of all worktrees in the repository.
func (t *tree) adminFolders() (list []string) {
	all := filepath.Join(t.repo.Common, "worktrees")
	entries, _ := os.ReadDir(all) // there may be none
	for _, e := range entries {
		list = append(list, filepath.Join(all, e.Name()))
	}
	return list
}

// repair cleans up after a killed Git or a hostile agent.
func (t *tree) repair(ctx context.Context) error {
	for _, name := range []string{"index.lock", "HEAD.lock"} {
		_ = os.Remove(filepath.Join(t.state.Admin, name))
	}
	link := filepath.Join(t.work(), ".git")
	if err := t.remove(ctx, "work/.git"); err != nil {
		return err
	}
	return errors.Join(t.claim(), os.WriteFile(link, []byte("gitdir: "+t.state.Admin+"\n"), 0o600))
}

// clear deletes the folder and its metadata in the repository. Other worktrees,
// even missing ones, are left alone.
func (t *tree) clear(ctx context.Context) error {
	if err := t.remove(ctx, "work", "git"); err != nil {
		return err
	}
	for _, admin := range t.adminFolders() {
		if t.ownsAdmin(admin) {
			if err := os.RemoveAll(admin); err != nil {
				return err
			}
		}
	}
	return t.displace()
}

// remove deletes what the agent may have filled. The error says that it is
// still in place.
func (t *tree) remove(ctx context.Context, names ...string) error {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	err = remove.All(ctx, root, names...)
	for _, name := range names {
		if _, there := root.Lstat(name); !errors.Is(there, fs.ErrNotExist) {
			return errors.Join(err, there)
		}
	}
	return nil // the next removal retries the rest
}

// add creates the worktree and checks it out.
func (t *tree) add(ctx context.Context, args ...string) error {
	all := append([]string{"worktree", "add", "--quiet", "--no-checkout"}, args...)
	if _, err := t.repo.Git.Run(ctx, nil, all...); err != nil {
		return err
	}
	b, err := ReadIn(t.work(), ".git")
	if err != nil {
		return err
	}
	t.state.Admin = strings.TrimSpace(strings.TrimPrefix(string(b), "gitdir: "))
	if err := errors.Join(t.claim(), t.save()); err != nil {
		return err
	}
	if err := t.private(ctx); err != nil {
		return err
	}
	if _, err := t.git().Run(ctx, nil, "read-tree", "--reset", "-u", t.repo.Tip(ctx, t.state.Branch)); err != nil {
		return err
	}
	return t.copyIndex()
}

// copyIndex copies our Git's index to the agent's.
func (t *tree) copyIndex() error {
	b, err := os.ReadFile(filepath.Join(t.dir, "git", "index"))
	if err != nil {
		return err
	}
	return WriteIn(t.state.Admin, "index", b, 0o600)
}

// private creates our own repository.
func (t *tree) private(ctx context.Context) error {
	exclude, err := excludes(t.repo.Common)
	if err != nil {
		return err
	}
	return t.privateGit().Make(ctx, exclude)
}

func (t *tree) privateGit() git.Private { return t.repo.Private(filepath.Join(t.dir, "git")) }

// excludes reads the repository's ignore patterns.
func excludes(common string) (string, error) {
	root, err := os.OpenRoot(common)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	info, err := root.OpenRoot("info")
	if err != nil {
		return "", nil // it has none
	}
	defer func() { _ = info.Close() }()
	b, err := readPlain(info, "exclude", textdiff.MaxText)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotPlain) {
		return "", err
	}
	return string(b), nil
}

// git returns Git for our own repository with the worktree.
func (t *tree) git() git.Git { return t.privateGit().In(t.work()) }

// worktreeGit returns Git for reading the repository as the worktree sees it.
func (t *tree) worktreeGit() git.Git { return t.repo.Git.At(t.dir, "--git-dir="+t.state.Admin) }

// writeHead runs a command of Git that changes the HEAD of a worktree.
func (t *tree) writeHead(ctx context.Context, admin string, args ...string) error {
	g, err := t.repo.Worktree(ctx, t.dir, admin)
	if err == nil {
		_, err = g.Run(ctx, nil, args...)
	}
	return err
}

// HasNoUnsavedWork reports whether the folder of a worktree contains no unsaved work of
// a run: all of it is on a branch, or there was none.
func HasNoUnsavedWork(runs *os.Root, name string) bool {
	dir, err := runs.OpenRoot(name)
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	_, err = dir.Lstat("work")
	return errors.Is(err, fs.ErrNotExist)
}
