package task

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Bounds of what is kept of the work of a run.
const (
	MaxFiles     = 1000      // files that are named
	MaxFilePath  = 1024      // bytes of a name
	MaxFilePaths = 128 << 10 // bytes of all names
	MaxFileDiff  = 64 << 10  // bytes of the lines of one file
	MaxDiff      = 256 << 10 // bytes of the lines of all files
	MaxFileNote  = 400       // bytes
	MaxWorkNote  = 2000      // bytes
)

// Change says how a file changed.
type Change string

// The changes.
const (
	FileAdded    Change = "added"
	FileModified Change = "modified"
	FileDeleted  Change = "deleted"
)

// FileChange is one file that is not as it was before the run, as the
// supervisor saw it.
type FileChange struct {
	Path    string `json:"path" doc:"relative to the workspace, with slashes; control characters and invalid UTF-8 are replaced"`
	Change  Change `json:"change" enum:"added,modified,deleted"`
	Added   int    `json:"added" doc:"lines"`
	Removed int    `json:"removed" doc:"lines"`
	Note    string `json:"note,omitempty" doc:"what the lines do not show, or why there are none: binary, too large"`
	Diff    string `json:"-"` // hunks of a unified diff, without the header; "" where there is none
}

// Work is what a run left in its workspace.
type Work struct {
	Files []FileChange `json:"files" doc:"by path, at most 1000"`
	Total int          `json:"total" doc:"number of all changed files"`
	Note  string       `json:"note,omitempty" doc:"why files are left out or could not be compared"`

	// Of a worktree.
	Repository string `json:"repository,omitempty"`
	Branch     string `json:"branch,omitempty" doc:"branch that has its work; empty if there is none"`
	Folder     string `json:"folder,omitempty" doc:"folder with its work, if not all of it could be committed to a branch"`
	Merge      string `json:"merge,omitempty" doc:"whether its files were merged into the worktree of the run that delegated it, and if not, why, with the files in conflict"`
}

// SharedFolder reports whether a run works in the folder of the run that
// delegated it.
func (s Spec) SharedFolder() bool {
	_, tree := ParseWorktree(s.Workspace)
	return s.SharedRun != 0 && !tree
}

// Place says where a run works, "" for its own private folder.
func (s Spec) Place() string {
	switch {
	case s.SharedFolder():
		text := "that of run " + s.SharedRun.String()
		if s.Workspace != "" {
			text = s.Workspace + ", " + text
		}
		if s.ReadOnly {
			text += ", read-only"
		}
		return text
	case s.SharedRun != 0:
		return s.Workspace + ", from and into that of run " + s.SharedRun.String()
	}
	return s.Workspace
}

// Lines sums the added and removed lines of the files that are named.
func (w *Work) Lines() (added, removed int) {
	for _, f := range w.Files {
		added, removed = added+f.Added, removed+f.Removed
	}
	return added, removed
}

// Paths lists the files that are named.
func (w *Work) Paths() []string {
	list := make([]string, len(w.Files))
	for i, f := range w.Files {
		list[i] = f.Path
	}
	return list
}

// Patch is the whole unified diff, at most MaxDiff bytes of lines and their
// headers. Names that a program might misread are quoted, and characters that
// reorder or hide others replaced.
func (w *Work) Patch() string {
	var b strings.Builder
	for _, f := range w.Files {
		from, to := quotePath("a/"+f.Path), quotePath("b/"+f.Path)
		fmt.Fprintf(&b, "diff --git %s %s\n", from, to)
		switch mode := f.mode(); f.Change {
		case FileAdded:
			fmt.Fprintf(&b, "new file mode %s\n", mode)
		case FileDeleted:
			fmt.Fprintf(&b, "deleted file mode %s\n", mode)
		}
		if f.Note != "" {
			fmt.Fprintf(&b, "# %s: %s\n", f.Change, strings.ReplaceAll(f.Note, "\n", " "))
		}
		switch f.Change {
		case FileAdded:
			from = "/dev/null"
		case FileDeleted:
			to = "/dev/null"
		}
		if f.Diff != "" {
			fmt.Fprintf(&b, "--- %s\n+++ %s\n%s", from, to, f.Diff)
		}
	}
	if left := w.Total - len(w.Files); left > 0 {
		fmt.Fprintf(&b, "# %d more files are not named\n", left)
	}
	if w.Note != "" {
		fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(w.Note, "\n", " "))
	}
	return strings.Map(replaceBidi, b.String())
}

// mode is the kind of an added or deleted file, as Git writes it.
func (f FileChange) mode() string {
	switch f.Note {
	case "executable":
		return "100755"
	case "symbolic link":
		return "120000"
	case "submodule":
		return "160000"
	}
	return "100644"
}

// replaceBidi replaces what would reorder or hide the characters around it.
func replaceBidi(r rune) rune {
	switch {
	case r == 0x061c, r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff:
		return '\uFFFD'
	}
	return r
}

// quotePath writes a name on one line, so that it cannot be taken for another.
func quotePath(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '"' || r == '\\' }) {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(name) + `"`
}

// worktreeWord begins the workspace of runs that each get a worktree.
const worktreeWord = "worktree"

// WorktreeWorkspace is the workspace of runs in worktrees of a repository.
func WorktreeWorkspace(repository string) string { return worktreeWord + ":" + repository }

// ParseWorktree returns the repository of a workspace that is a worktree of it,
// and reports whether it is one.
func ParseWorktree(workspace string) (repository string, ok bool) {
	return strings.CutPrefix(workspace, worktreeWord+":")
}

// CheckWorkspace returns why a text is no workspace, or nil: "" for a private
// folder, the absolute path of a folder, or worktree: and that of a Git
// repository. Whether it exists is seen when a run starts.
func CheckWorkspace(s string) error {
	if s == worktreeWord {
		return errors.New("a worktree needs its repository: write worktree:/absolute/path/of/the/repository")
	}
	path, tree := ParseWorktree(s)
	if s != "" && !filepath.IsAbs(path) {
		if tree {
			return fmt.Errorf("%q is not the absolute path of a repository: write worktree:/absolute/path", path)
		}
		return fmt.Errorf("%q is not an absolute path: write /absolute/path, or worktree:/absolute/path of a Git repository", s)
	}
	return nil
}
