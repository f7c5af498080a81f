package service

import (
	"os"
	"strings"
	"testing"
)

// TestTroubleshootingQuotesTheDiagnosis lets people find the sentences of a diagnosis in
// the documentation. "…" stands for what the program fills in.
func TestTroubleshootingQuotesTheDiagnosis(t *testing.T) {
	t.Parallel()
	program := ""
	for _, file := range []string{"task_why.go", "../task/usage.go"} {
		program += string(must(os.ReadFile(file)))
	}
	_, part, _ := strings.Cut(string(must(os.ReadFile("../docs/troubleshooting.md"))), "## A task does not run\n")
	part, _, _ = strings.Cut(part, "\n## ")
	n := 0
	for line := range strings.Lines(part) {
		cell, found := strings.CutPrefix(line, "| “")
		if !found {
			continue
		}
		n++
		quoted, _, _ := strings.Cut(cell, "” |")
		for piece := range strings.SplitSeq(quoted, "…") {
			if !strings.Contains(program, strings.TrimSpace(piece)) {
				t.Errorf("%q of %q is not in any text of the program", piece, quoted)
			}
		}
	}
	equal(t, "rows of quoted texts", n, 9)
}
