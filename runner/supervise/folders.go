package supervise

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"taskyard/runner/remove"
	"taskyard/task"
)

// errWorkspace marks a problem of a workspace that a retry would not fix.
var errWorkspace = errors.New("workspace")

// MakeFolders creates the private folders of a run: HOME, TMPDIR and, unless
// the plan names a workspace, which must exist, a working folder. If that
// fails, it returns the outcome of the run, with an error for the server's log.
func MakeFolders(ctx context.Context, spec Spec) (refused *Outcome, err error) {
	err = makeFolders(ctx, spec)
	if err == nil {
		return nil, nil
	}
	out := Failed(task.PhaseError, "The folder of the run could not be made")
	if errors.Is(err, errWorkspace) {
		out, err = Permanent(task.PhaseError, err.Error()), nil
	}
	return &out, err
}

func makeFolders(ctx context.Context, spec Spec) error {
	if !filepath.IsAbs(spec.Dir) {
		return fmt.Errorf("the folder of the run must be an absolute path, not %q", spec.Dir)
	}
	if err := freshHome(ctx, spec); err != nil {
		return err
	}
	for _, name := range []string{"home", "tmp", "work"} {
		if err := os.MkdirAll(filepath.Join(spec.Dir, name), 0o700); err != nil {
			return err
		}
	}
	if spec.Plan.Workspace == "" {
		return nil
	}
	return CheckWorkspace(spec.Plan.Workspace)
}

// FormerHome is the folder of the previous attempt's HOME, in the run's folder.
const FormerHome = "former-home"

// freshHome moves the HOME of the previous attempt aside when a run continues
// in its folder: its settings and hooks must not apply to this attempt. Only
// the conversation is taken over.
func freshHome(ctx context.Context, spec Spec) error {
	if spec.Former == "" || spec.Former != spec.Dir {
		return nil
	}
	root, err := os.OpenRoot(spec.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	away := remove.All(ctx, root, FormerHome) // it is out of the way, even if some of it cannot be deleted
	if err := root.Rename("home", FormerHome); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, away)
	}
	return nil
}

// workDir returns the working directory of a run.
func workDir(spec Spec) string {
	if spec.Plan.Workspace != "" {
		return spec.Plan.Workspace
	}
	return filepath.Join(spec.Dir, "work")
}

// CheckWorkspace returns why a folder cannot be a workspace, for people.
func CheckWorkspace(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%w %s is not an absolute path", errWorkspace, path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w %s does not exist", errWorkspace, path)
	case err != nil:
		return fmt.Errorf("%w %s cannot be used: %w", errWorkspace, path, err)
	case !info.IsDir():
		return fmt.Errorf("%w %s is not a folder", errWorkspace, path)
	}
	return nil
}
