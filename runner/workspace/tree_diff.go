package workspace

import (
	"context"
	"os"
	"path/filepath"

	"taskyard/runner/git"
	"taskyard/runner/textdiff"
	"taskyard/task"
)

// changes lists the differences between the start of the run and a commit.
func (t *tree) changes(ctx context.Context, l *textdiff.List, commit string) error {
	g := t.git()
	var changed []git.Change
	total := 0
	err := g.Changes(ctx, t.state.Base, commit, func(c git.Change) error {
		if total++; len(changed) < task.MaxFiles {
			changed = append(changed, c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	texts, err := g.Contents(ctx, changed, textdiff.MaxText)
	if err != nil {
		return err
	}
	for _, c := range changed {
		l.Add(c.Path, c.Kind, texts.Side(c.BeforeMode, c.Before), texts.Side(c.AfterMode, c.After), c.Note())
	}
	l.Work.Total = total
	return nil
}

// Salvage saves what a run left in its worktree after its server stopped, and
// returns it; nil if there is nothing.
func Salvage(ctx context.Context, o Options) *task.Work {
	path, ok := task.ParseWorktree(o.Workspace)
	if !ok {
		return nil
	}
	dir, err := filepath.EvalSymlinks(treeDir(o))
	t := &tree{dir: dir, author: o.Agent}
	if err != nil || !t.load() || !t.state.Open || t.state.Run != o.Run || t.state.Repository != path {
		return nil
	}
	repo, err := openRepository(ctx, path, o.Branch != "")
	if err != nil {
		return nil // the next run of the task reports why
	}
	if t.repo = repo; !t.isLinked() {
		return nil
	}
	return t.close(ctx, o, false)
}

// Interrupted lists the runs with an unfinished worktree below the folder of
// all runs.
func Interrupted(runs string) (ids []task.ID) {
	entries, _ := os.ReadDir(runs) // there may have been no run yet
	for _, e := range entries {
		t := &tree{dir: filepath.Join(runs, e.Name())}
		if known, ok := task.ParseRunFolder(e.Name()); ok && known.Tree && t.load() && t.state.Open {
			ids = append(ids, t.state.Run)
		}
	}
	return ids
}
