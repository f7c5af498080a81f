package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"taskyard/runner/supervise"
	"taskyard/task"
)

// maxReport bounds the report of the end of a run, in bytes of JSON: the server
// rejects bodies of more than 1 MiB.
const maxReport = 1<<20 - 16<<10

// maxReportedArtifacts bounds the names of a run's artifacts, in bytes of JSON.
const maxReportedArtifacts = 256 << 10

// maxRetryAfter is the longest wait before a retry that the server accepts.
const maxRetryAfter = 24 * time.Hour

// endReport returns the report of the end of a run.
func endReport(run *task.Leased, out supervise.Outcome) map[string]any {
	report := map[string]any{
		"attempt": run.Attempt, "lease": run.Lease, "status": out.Status, "reason": out.Reason, "summary": out.Summary,
		"artifacts": reportedArtifacts(out.Artifacts), "usage": out.Usage, "permanent": out.Permanent,
	}
	if out.After > 0 {
		report["retryAfterSeconds"] = int(min(out.After, maxRetryAfter).Seconds())
	}
	if out.Work != nil {
		encoded, _ := json.Marshal(report) // plain values
		report["work"] = reportedWork(out.Work, maxReport-len(encoded))
	}
	return report
}

// maxDataDepth bounds the nesting of an event's data: a body may have 32
// levels, of which the report uses 3.
const maxDataDepth = 29

// reportedData returns the data of an event in a form that the server accepts.
func reportedData(data json.RawMessage) json.RawMessage {
	dec, depth := json.NewDecoder(bytes.NewReader(data)), 0
	for {
		token, err := dec.Token()
		if err != nil {
			return data // the end: an event has one valid value, or none
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > maxDataDepth {
			return fmt.Appendf(nil, `{"cut":true,"bytes":%d}`, len(data))
		}
	}
}

// reportedArtifacts returns the names that the server accepts.
func reportedArtifacts(list []string) []string {
	kept, size := []string{}, 0
	for _, a := range list {
		if len(a) > task.MaxResource || len(kept) == task.MaxArtifacts {
			continue
		}
		if size += task.JSONBytes(a); size > maxReportedArtifacts {
			break
		}
		kept = append(kept, a)
	}
	return kept
}

// reportedFile is a changed file with its lines.
type reportedFile struct {
	task.FileChange
	Diff string `json:"diff,omitempty"`
}

// reportedWork returns the work of a run in at most limit bytes of JSON:
// without the lines of some files if necessary, and then without some of the
// names.
func reportedWork(w *task.Work, limit int) any {
	report := struct {
		task.Work
		Files []reportedFile `json:"files"`
	}{*w, make([]reportedFile, len(w.Files))}
	for i, f := range w.Files {
		report.Files[i] = reportedFile{f, f.Diff}
	}
	fits := func() bool {
		b, err := json.Marshal(report)
		return err == nil && len(b) <= limit
	}
	for i := len(report.Files) - 1; i >= 0 && !fits(); i-- {
		// Halve the number of files with lines each time, instead of removing
		// one at a time.
		for n := max(1, i/2); n > 0 && i >= 0; n-- {
			report.Files[i].Diff, report.Files[i].Note = "", "its lines were too long to be reported"
			i--
		}
		i++
	}
	for n := len(report.Files); n > 0 && !fits(); {
		n -= 1 + n/8
		report.Files = report.Files[:n]
	}
	return report
}
