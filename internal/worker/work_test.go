package worker

import (
	"encoding/json"
	"strings"
	"testing"

	"taskyard/task"
)

func TestWhatAWorkerReportsFitsIntoABody(t *testing.T) {
	t.Parallel()
	w := &task.Work{Total: 4, Files: make([]task.FileChange, 4)}
	for i := range w.Files {
		w.Files[i] = task.FileChange{Path: "a", Change: task.FileAdded, Diff: strings.Repeat("+<&>\n", 12000)}
	}
	raw, err := json.Marshal(reportedWork(w))
	if err != nil {
		t.Fatal(err)
	}
	b := string(raw)
	if len(b) > maxReportedWork || !strings.Contains(b, "too long to be reported") || !strings.Contains(b, `"diff":"+`) {
		t.Errorf("%d bytes: %.200s", len(b), b)
	}
	if reportedWork(nil) != nil {
		t.Error("nothing is told as something")
	}
}
