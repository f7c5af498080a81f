// Package workspace prepares the folder in which a run works, and reports
// afterwards what changed in it. It does not ask the agent: it compares the
// folder before and after. All that lies there is hostile: no link is
// followed, nothing but plain files is opened, and no program that a
// repository names is run.
package workspace

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"taskyard/runner/instance"
	"taskyard/task"
)

// Options say whose workspace it is.
type Options struct {
	Run       task.ID
	Origin    task.ID // the first of the runs that this one tries again; itself when it is none
	Lease     int64   // distinguishes the starts of one run; 1 is the first
	Agent     string
	Workspace string // as planned: see task.CheckWorkspace
	Dir       string // private folder of this start, absolute; its work folder is the workspace where none is planned
	Redact    func(string) string

	// Of a run that shares the workspace of the run that delegated it.
	SharedRun  task.ID
	Shared     string  // private folder of that run, absolute; "" for none
	SharedTree task.ID // Origin of that run
	ReadOnly   bool    // nothing changes in the folder that it shares

	// Of a run of a task that has a branch of its own: the workspace is its
	// worktree, which stays until the task is archived.
	Branch  string                                               // "": the run has a branch of its own
	From    string                                               // branch on which that one begins
	Title   string                                               // of the task; the message of commits
	Prepare func(ctx context.Context, folder, home string) error // runs once after the worktree is made; nil: nothing
}

// UnusableError says why a workspace cannot be used; a retry would not fix it.
type UnusableError struct{ Reason string }

func (r *UnusableError) Error() string { return r.Reason }

// Space is the workspace of one run, from its start to its end.
type Space struct {
	o      Options
	folder string
	tree   *tree     // nil: no worktree
	before *snapshot // of a planned folder
	share  *share    // of a planned folder
}

// Open prepares the workspace. Errors: a *UnusableError; the end of ctx; others,
// such as a full disk, which a retry may fix.
func Open(ctx context.Context, o Options) (*Space, error) {
	s := &Space{o: o}
	for _, data := range instance.Folders() {
		if err := CheckApart(o.Workspace, data); err != nil {
			return nil, &UnusableError{"workspace: " + err.Error()}
		}
	}
	if repository, ok := task.ParseWorktree(o.Workspace); ok {
		t, err := openTree(ctx, o, repository)
		if err != nil {
			return nil, err
		}
		s.tree, s.folder = t, t.work()
		return s, t.prepare(ctx, o)
	}
	switch {
	case o.Workspace != "":
		s.folder = o.Workspace
	case o.Shared != "":
		s.folder = filepath.Join(o.Shared, "work")
	default:
		s.folder = filepath.Join(o.Dir, "work") // made by the runner, empty
		return s, nil
	}
	if o.ReadOnly {
		return s, nil
	}
	if info, err := os.Stat(s.folder); err != nil || !info.IsDir() || !filepath.IsAbs(s.folder) {
		return s, nil // the runner says so
	}
	s.share = enter(s.folder)
	s.before = take(ctx, s.folder, o.Dir)
	return s, nil
}

// CheckApart says why no run may work in a workspace on the machine of a data
// folder: its files would be those of the run. A worktree lies elsewhere than
// its repository, which therefore may contain the data folder.
func CheckApart(workspace, data string) error {
	path, tree := task.ParseWorktree(workspace)
	switch {
	case path == "" || !filepath.IsAbs(path):
		return nil // see task.CheckWorkspace
	case tree:
		return instance.CheckOutside(path, data)
	}
	return instance.CheckApart(path, data)
}

// Folder is where the run works, absolute; "" for its private folder.
func (s *Space) Folder() string {
	if s.o.Workspace == "" && s.o.Shared == "" {
		return ""
	}
	return s.folder
}

// Readable names the folders, besides its own, in which a confined program may
// read: the repository of a worktree, unless its configuration holds passwords or
// the data folder lies in it. Git in the worktree needs it to show the log and
// differences.
func (s *Space) Readable(ctx context.Context) []string {
	if s.tree == nil || !s.tree.repo.Readable(ctx) {
		return nil
	}
	common := s.tree.repo.Common
	for _, data := range instance.Folders() {
		if instance.CheckApart(common, data) != nil {
			return nil
		}
	}
	return []string{common}
}

// Suspend leaves the workspace as it is, for another start of the same run.
func (s *Space) Suspend() {
	if s.before != nil {
		s.before.close()
		s.share.leave()
	}
}

// Close returns what changed. The work in a worktree is put on its branch, and
// its folder is removed when nothing in it would be lost; that of a completed
// run is merged into the worktree that it shares. Nothing may run in the
// workspace any more.
func (s *Space) Close(ctx context.Context, completed bool) *task.Work {
	switch {
	case s.tree != nil:
		return s.tree.close(ctx, s.o, completed)
	case s.o.ReadOnly:
		return &task.Work{Files: []task.FileChange{}}
	case s.Folder() != "" && s.before == nil:
		return nil // there was no such folder
	}
	before := s.before
	if before == nil {
		before = &snapshot{}
	}
	defer s.Suspend()
	after := look(ctx, s.folder)
	w := compare(before, after, s.folder, s.o.Redact)
	if s.share != nil && s.share.leave() {
		w.Note = joined(w.Note, "Another run worked in this folder meanwhile: what it changed is among these files.")
	}
	if s.share != nil && s.o.Lease > 1 {
		w.Note = joined(w.Note, "The run was interrupted and was restarted; files that it changed before are not listed.")
	}
	return w
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}

// share is the use of one folder by several runs of this process.
type share struct {
	folder string
	over   bool // left already
	others bool // another run used it at the same time
}

var (
	shareMu sync.Mutex
	shares  = map[string][]*share{}
)

// enter notes that a run uses a folder.
func enter(folder string) *share {
	if resolved, err := filepath.EvalSymlinks(folder); err == nil {
		folder = resolved
	}
	shareMu.Lock()
	defer shareMu.Unlock()
	s := &share{folder: folder}
	for _, other := range shares[folder] {
		s.others, other.others = true, true
	}
	shares[folder] = append(shares[folder], s)
	return s
}

// leave ends the use, once, and reports whether there was another meanwhile.
func (s *share) leave() bool {
	shareMu.Lock()
	defer shareMu.Unlock()
	if s.over {
		return s.others
	}
	s.over = true
	left := slices.DeleteFunc(shares[s.folder], func(other *share) bool { return other == s })
	if shares[s.folder] = left; len(left) == 0 {
		delete(shares, s.folder)
	}
	return s.others
}
