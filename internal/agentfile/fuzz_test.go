package agentfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"taskyard/task"
)

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"defaults/*.md", "testdata/*.md", "../../examples/agents/*.md"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if b, err := os.ReadFile(path); err == nil {
				f.Add(string(b))
			}
		}
	}
	f.Add(headings)
	f.Add(front("models:", "  low: a", "env: [A, B]", "timeout: 5m", "color: x", "a: &b c", "? d", "<<: *b"))
	f.Add("---\n{a: [b, {c: d}], tools: Bash(x, y)}\n---\nx")
	f.Add("---\ndescription: |\n  a\n   b\ntools: !!str read\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		a := Parse("fuzz", text, testOptions)
		checkVerdict(t, a)
		for _, tool := range a.Tools {
			if !slices.Contains(task.KnownTools, tool) {
				t.Errorf("it grants %q", tool)
			}
		}
		if a.Serving && (a.Description == "" || a.Prompt == "" || len(a.Tools)+len(a.UnknownTools) == 0) {
			t.Errorf("it is served without a description, prompt or tools: %+v", a)
		}
		if b := Parse("fuzz", text, testOptions); b.Status != a.Status || b.Hash != a.Hash {
			t.Error("parsing the same text twice gives different results")
		}
		if _, err := json.Marshal(a); err != nil || !utf8.ValidString(a.Text) {
			t.Errorf("it cannot be encoded as JSON: %v", err)
		}
	})
}

func checkVerdict(t *testing.T, a task.Agent) {
	t.Helper()
	fatal, lines := false, 1+strings.Count(a.Text, "\n")
	for _, p := range a.Problems {
		fatal = fatal || p.Fatal
		if p.Line < 1 || p.Line > lines || p.Message == "" || p.Hint == "" || !utf8.ValidString(p.Message+p.Hint) {
			t.Errorf("invalid problem %+v in a text of %d lines", p, lines)
		}
	}
	want := task.AgentValid
	switch {
	case fatal:
		want = task.AgentInvalid
	case len(a.Problems) > 0:
		want = task.AgentWarning
	}
	if a.Status != want || a.Serving == fatal || a.Tools == nil || a.Problems == nil || a.Capabilities == nil {
		t.Errorf("got status %s, serving %v; want %s", a.Status, a.Serving, want)
	}
}
