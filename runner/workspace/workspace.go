// Package workspace prepares the folder in which a run works, and reports
// afterwards what changed in it. It does not ask the agent: it compares the
// folder before and after. The contents are untrusted: no link is followed,
// only regular files are opened, and no program that a repository names is
// executed.
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

// Options describes the run of a workspace.
type Options struct {
	Run       task.ID
	Origin    task.ID // the first of the runs that this one retries; itself if there is none
	Lease     int64   // distinguishes the attempts of one run; 1 is the first
	Agent     string
	Workspace string // as planned: see task.CheckWorkspace
	Dir       string // private folder of this attempt, absolute; its work folder is the workspace if none is planned
	Redact    func(string) string

	// For a run that shares the workspace of the delegating run.
	SharedRun  task.ID
	Shared     string  // private folder of that run, absolute; "" for none
	SharedTree task.ID // Origin of that run
	ReadOnly   bool    // the shared folder must not change

	// For a run of a task with its own branch: the workspace is the task's
	// worktree, which stays until the task is archived.
	Branch  string                                               // "": the run has its own branch
	From    string                                               // branch on which Branch begins
	Title   string                                               // title of the task, for commit messages
	Prepare func(ctx context.Context, folder, home string) error // runs once after the worktree is created; nil: nothing
}

// UnusableError says why a workspace cannot be used; a retry would not fix it.
type UnusableError struct{ Reason string }

func (r *UnusableError) Error() string { return r.Reason }

// Space is the workspace of one run, from its start to its end.
type Space struct {
	o      Options
	folder string
	tree   *tree      // nil: no worktree
	before *snapshot  // of a planned folder
	share  *folderUse // of a planned folder
}

// Open prepares the workspace. Errors: a *UnusableError; the cause of ctx;
// others, such as a full disk, which a retry may fix.
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
		s.folder = filepath.Join(o.Dir, "work") // created empty by the runner
		return s, nil
	}
	if o.ReadOnly {
		return s, nil
	}
	if info, err := os.Stat(s.folder); err != nil || !info.IsDir() || !filepath.IsAbs(s.folder) {
		return s, nil // the runner reports the error
	}
	s.share = enter(s.folder)
	s.before = takeSnapshot(ctx, s.folder, o.Dir)
	return s, nil
}

// CheckApart returns an error if no run may work in a workspace because of the
// data folder on the same machine, whose files it would expose. A worktree is
// outside its repository, which may therefore contain the data folder.
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

// Folder returns the folder in which the run works, absolute; "": its private
// folder.
func (s *Space) Folder() string {
	if s.o.Workspace == "" && s.o.Shared == "" {
		return ""
	}
	return s.folder
}

// Readable returns additional folders that a confined program may read: the
// repository of a worktree, unless its configuration contains passwords or the
// data folder is inside it. Git needs it in the worktree for logs and diffs.
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

// Suspend leaves the workspace unchanged for another attempt of the same run.
func (s *Space) Suspend() {
	if s.before != nil {
		s.before.close()
		s.share.end()
	}
}

// Close returns what changed. The work in a worktree is committed to its
// branch, and the folder is deleted if nothing in it would be lost; that of a
// completed run is merged into the worktree that it shares. No process may be
// running in the workspace any more.
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
	after := takeOutline(ctx, s.folder)
	w := compare(before, after, s.folder, s.o.Redact)
	if s.share != nil && s.share.end() {
		w.Note = joinNonEmpty(w.Note, "Another run worked in this folder meanwhile: what it changed is among these files.")
	}
	if s.share != nil && s.o.Lease > 1 {
		w.Note = joinNonEmpty(w.Note, "The run was interrupted and was restarted; files that it changed before are not listed.")
	}
	return w
}

func joinNonEmpty(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}

// folderUse is the concurrent use of one folder by runs of this process.
type folderUse struct {
	folder string
	ended  bool // already left
	shared bool // another run used it at the same time
}

var (
	shareMu    sync.Mutex
	folderUses = map[string][]*folderUse{}
)

// enter records that a run uses a folder.
func enter(folder string) *folderUse {
	if resolved, err := filepath.EvalSymlinks(folder); err == nil {
		folder = resolved
	}
	shareMu.Lock()
	defer shareMu.Unlock()
	s := &folderUse{folder: folder}
	for _, other := range folderUses[folder] {
		s.shared, other.shared = true, true
	}
	folderUses[folder] = append(folderUses[folder], s)
	return s
}

// end ends the use, once, and reports whether another run used it in the
// meantime.
func (s *folderUse) end() bool {
	shareMu.Lock()
	defer shareMu.Unlock()
	if s.ended {
		return s.shared
	}
	s.ended = true
	left := slices.DeleteFunc(folderUses[s.folder], func(other *folderUse) bool { return other == s })
	if folderUses[s.folder] = left; len(left) == 0 {
		delete(folderUses, s.folder)
	}
	return s.shared
}
