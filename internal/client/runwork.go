package client

import (
	"fmt"

	"taskyard/task"
)

// ranWork is the work that a run left, as the server returns it.
type ranWork struct {
	Files      []task.FileChange
	FilesTotal int
	FilesNote  string
	Repository string
	Branch     string
	WorkFolder string
	Merge      string
}

// maxShownFiles bounds the files that are printed.
const maxShownFiles = 50

// showWork prints which files a run changed, and where they are.
func (e *Env) showWork(w *ranWork) {
	if w.FilesTotal == 0 && w.FilesNote == "" && w.Merge == "" {
		return
	}
	e.part("Changed files", 1)
	rows := [][]string{}
	for _, f := range w.Files[:min(len(w.Files), maxShownFiles)] {
		rows = append(rows, []string{string(f.Change), fmt.Sprintf("+%d -%d", f.Added, f.Removed), f.Path})
	}
	if len(rows) > 0 {
		e.table([]string{"CHANGE", "LINES", "FILE"}, rows)
	}
	if left := w.FilesTotal - len(rows); left > 0 && len(rows) > 0 {
		e.say("and %s", counted(left, "more"))
	}
	fields(e.Stdout, "note", w.FilesNote, "branch", w.Branch, "repository", w.Repository, "left in", w.WorkFolder, "merge", w.Merge)
}
