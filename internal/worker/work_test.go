package worker

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"taskyard/runner/supervise"
	"taskyard/task"
)

func TestAReportOfAWorkerFitsIntoABody(t *testing.T) {
	t.Parallel()
	w := &task.Work{Total: 4, Files: make([]task.FileChange, 4)}
	for i := range w.Files {
		w.Files[i] = task.FileChange{Path: "a", Change: task.FileAdded, Diff: strings.Repeat("+<&>\n", 13000)}
	}
	out := supervise.Outcome{Status: task.RunCompleted, Summary: "Done.", Work: w}
	b := endJSON(t, out)
	if len(b) > maxReport || !strings.Contains(b, "too long to be reported") || !strings.Contains(b, `"diff":"+`) {
		t.Errorf("%d bytes: %.200s", len(b), b)
	}

	// Each name takes six times as many bytes in JSON.
	out.Summary = strings.Repeat("<", task.MaxSummaryRun)
	for range task.MaxArtifacts {
		out.Artifacts = append(out.Artifacts, strings.Repeat("<", task.MaxResource))
	}
	if b := endJSON(t, out); len(b) > maxReport || !strings.Contains(b, `"diff":"+`) || !strings.Contains(b, `"artifacts":["\u003c`) {
		t.Errorf("%d bytes: %.200s", len(b), b)
	}
	// So does each name of a changed file; if some do not fit, their number is reported.
	w.Files, w.Total = make([]task.FileChange, task.MaxFiles), task.MaxFiles
	for i := range w.Files {
		w.Files[i] = task.FileChange{Path: strings.Repeat("<", task.MaxFilePaths/task.MaxFiles), Change: task.FileAdded, Diff: "+x\n"}
	}
	if b := endJSON(t, out); len(b) > maxReport || strings.Count(b, `"path"`) < task.MaxFiles/2 || !strings.Contains(b, `"total":1000`) {
		t.Errorf("%d bytes, %d files: %.200s", len(b), strings.Count(b, `"path"`), b)
	}
	if b := endJSON(t, supervise.Outcome{Status: task.RunCompleted}); strings.Contains(b, `"work"`) {
		t.Errorf("an empty change is reported as %s", b)
	}
}

func TestAWorkerReportsTheWaitThatAProviderAsksFor(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]string{
		0: "", time.Hour: `"retryAfterSeconds":3600,`, 1000 * time.Hour: `"retryAfterSeconds":86400,`,
	} {
		b := endJSON(t, supervise.Outcome{Status: task.RunFailed, After: after})
		if !strings.Contains(b, want) || strings.Contains(b, "retryAfter") != (want != "") {
			t.Errorf("%v: %s", after, b)
		}
	}
}

// The server refuses bodies of more than 32 levels, and the report has some itself.
func TestDataThatIsNestedTooDeeplyIsCut(t *testing.T) {
	t.Parallel()
	for depth, cut := range map[int]bool{1: false, maxDataDepth: false, maxDataDepth + 1: true, 1000: true} {
		data := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
		if got := string(reportedData(json.RawMessage(data))); strings.Contains(got, `"cut":true`) != cut || !cut && got != data {
			t.Errorf("depth %d: got %.100s", depth, got)
		}
	}
	if got := reportedData(nil); got != nil {
		t.Errorf("without data, got %s", got)
	}
}

func endJSON(t *testing.T, out supervise.Outcome) string {
	t.Helper()
	b, err := json.Marshal(endReport(&task.Leased{}, out))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
