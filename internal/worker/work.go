package worker

import (
	"encoding/json"

	"taskyard/task"
)

// maxReportedWork bounds what a worker says of changed files, in bytes of
// JSON: the server takes no body of more than 1 MiB.
const maxReportedWork = 768 << 10

// reportedFile is a changed file with its lines.
type reportedFile struct {
	task.FileChange
	Diff string `json:"diff,omitempty"`
}

// reportedWork is what a run left, as it is told to the server: without the
// lines of files when all would be too long; nil when nobody looked.
func reportedWork(w *task.Work) any {
	if w == nil {
		return nil
	}
	report := struct {
		task.Work
		Files []reportedFile `json:"files"`
	}{*w, make([]reportedFile, len(w.Files))}
	for i, f := range w.Files {
		report.Files[i] = reportedFile{f, f.Diff}
	}
	for i := len(report.Files) - 1; i >= 0; i-- {
		if b, err := json.Marshal(report); err == nil && len(b) <= maxReportedWork {
			break
		}
		// Halves the lines with each look, not one file at a time.
		for n := max(1, i/2); n > 0 && i >= 0; n-- {
			report.Files[i].Diff, report.Files[i].Note = "", "its lines were too long to be reported"
			i--
		}
		i++
	}
	return report
}
