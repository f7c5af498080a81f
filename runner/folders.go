package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// errWorkspace marks a workspace that a retry would not mend.
var errWorkspace = errors.New("workspace")

// makeFolders creates the private folders of a run and returns its working
// folder: the plan's workspace, which must exist, else a private one.
func makeFolders(spec Spec) (work string, err error) {
	if !filepath.IsAbs(spec.Dir) {
		return "", fmt.Errorf("the folder of the run must be an absolute path, is %q", spec.Dir)
	}
	for _, name := range []string{"home", "tmp", "work"} {
		if err := os.MkdirAll(filepath.Join(spec.Dir, name), 0o700); err != nil {
			return "", err
		}
	}
	if spec.Plan.Workspace == "" {
		return workOf(spec), nil
	}
	return spec.Plan.Workspace, checkWorkspace(spec.Plan.Workspace)
}

// workOf is the working folder of a run.
func workOf(spec Spec) string {
	if spec.Plan.Workspace != "" {
		return spec.Plan.Workspace
	}
	return filepath.Join(spec.Dir, "work")
}

func checkWorkspace(path string) error {
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
