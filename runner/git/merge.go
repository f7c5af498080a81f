package git

import (
	"context"
	"fmt"
	"strings"

	"taskyard/runner/textdiff"
	"taskyard/task"
)

// ConflictError lists the files that both sides changed differently.
type ConflictError struct{ Files []string }

func (e *ConflictError) Error() string {
	return "conflicts in " + task.ClipText(textdiff.Printable(strings.Join(e.Files, ", ")), 1000)
}

// MergeTrees merges the files of two commits with a common base, and returns
// the tree. It returns a *ConflictError, or Git's error. It requires a Git of a
// Private.
func (g Git) MergeTrees(ctx context.Context, base, ours, theirs string) (tree string, err error) {
	sides := [2]string{ours, theirs}
	for i, side := range sides { // make base the parent of each side, so that Git uses it as the merge base
		commit, err := g.CommitTree(ctx, side+"^{tree}", "side\n", base)
		if err != nil {
			return "", err
		}
		sides[i] = commit
	}
	stderr, err := g.Run(ctx, nil, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", sides[0], sides[1])
	names := strings.Split(strings.TrimRight(stderr, "\x00"), "\x00")
	switch {
	case err == nil && len(names) == 1:
		return names[0], nil
	case len(names) > 1:
		return "", &ConflictError{names[1:]}
	}
	return "", fmt.Errorf("it could not be merged (%s)", Reason(err))
}

// CommitTree creates a commit of a tree.
func (g Git) CommitTree(ctx context.Context, files, message string, parents ...string) (commit string, err error) {
	args := []string{"commit-tree", files}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return g.Run(ctx, strings.NewReader(message), args...)
}

// As returns Git with a commit author: an agent or person of Taskyard.
func (g Git) As(name string) Git {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune("<>\x7f", r) {
			return -1
		}
		return r
	}, name)
	if strings.Trim(name, " .,:;\"'\\") == "" {
		name = "taskyard"
	}
	return g.With("GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+strings.ReplaceAll(name, " ", ".")+"@taskyard.localhost")
}
