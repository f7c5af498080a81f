package task

import (
	"fmt"
	"strings"
)

// RunFolder is a folder of the runs: the private folder of a start of a run, or
// the worktree of a run and its retries.
type RunFolder struct {
	Name string
	Run  ID   // of a worktree: the first that worked in it
	Tree bool // a worktree
}

// RunFolders names folders of other runs that a run works in.
type RunFolders struct {
	Origin     ID     `json:"originRunId,omitzero" doc:"the first run of the worktree in which it continues; its own id if it continues none"`
	Shared     string `json:"sharedFolder,omitempty" doc:"folder of the run whose workspace it shares"`
	SharedTree ID     `json:"sharedOriginRunId,omitzero" doc:"the first run of the worktree of that run"`
}

// StartFolder is the folder of one start of a run.
func StartFolder(run ID, lease int64) RunFolder {
	return RunFolder{Name: fmt.Sprintf("run-%d-%d", run, lease), Run: run}
}

// TreeFolder is the folder of the worktree that a run began.
func TreeFolder(origin ID) RunFolder {
	return RunFolder{Name: fmt.Sprintf("tree-%d", origin), Run: origin, Tree: true}
}

// ParseRunFolder parses the name of a folder; ok is false if it is not a name
// that Taskyard uses.
func ParseRunFolder(name string) (f RunFolder, ok bool) {
	if digits, tree := strings.CutPrefix(name, "tree-"); tree {
		id, err := ParseID(digits)
		f = TreeFolder(id)
		return f, err == nil && f.Name == name
	}
	run, lease, _ := strings.Cut(strings.TrimPrefix(name, "run-"), "-")
	id, err := ParseID(run)
	start, err2 := ParseID(lease)
	f = StartFolder(id, int64(start))
	return f, err == nil && err2 == nil && f.Name == name
}
