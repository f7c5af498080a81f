package runner

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"taskyard/runner/remove"
	"taskyard/runner/workspace"
	"taskyard/task"
)

// retireBatch is the number of folders per call of expired.
const retireBatch = 500

// Retire deletes those run folders below dir that expired returns, and returns
// how many. A worktree in which files are left stays, unless it belongs to a
// task: its files may be on no branch. Everything else in dir is left alone.
// The error names folders that could not be deleted; the next call retries
// them.
func Retire(ctx context.Context, dir string, expired func([]task.RunFolder) ([]task.RunFolder, error)) (int, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // there has been no run yet
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }()
	names, err := retired(ctx, root, expired)
	if err != nil {
		return 0, err
	}
	err = remove.All(ctx, root, names...)
	removed := 0
	for _, name := range names {
		if _, there := root.Lstat(name); errors.Is(there, fs.ErrNotExist) {
			removed++
		}
	}
	return removed, err
}

// retired returns the names of the folders to delete.
func retired(ctx context.Context, root *os.Root, expired func([]task.RunFolder) ([]task.RunFolder, error)) ([]string, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var names []string
	for {
		entries, end := f.ReadDir(retireBatch)
		var list []task.RunFolder
		for _, e := range entries {
			if known, ok := task.ParseRunFolder(e.Name()); ok && e.IsDir() {
				list = append(list, known)
			}
		}
		if len(list) > 0 {
			if list, err = expired(list); err != nil {
				return nil, err
			}
		}
		for _, old := range list {
			if old.Tree && !workspace.HasNoUnsavedWork(root, old.Name) {
				// The files of a task are on its branch.
				if task, err := workspace.RetireFolder(ctx, root.Name(), old.Name); !task || err != nil {
					continue
				}
			}
			names = append(names, old.Name)
		}
		switch {
		case errors.Is(end, io.EOF):
			return names, nil
		case end != nil:
			return nil, end
		}
	}
}
