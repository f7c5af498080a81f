package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheChecklistNamesTestsThatExist checks that each row of docs/checklist.md
// names tests, and that all of them exist.
func TestTheChecklistNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	named, exists := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`"), map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(b, -1) {
			exists[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/checklist.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| requirement") {
			continue
		}
		rows++
		tests := named.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("no test in row: %s", line)
		}
		for _, m := range tests {
			if !exists[m[1]] {
				t.Errorf("no test %s exists: %s", m[1], line)
			}
		}
	}
	if rows < 50 {
		t.Errorf("only %d rows are read", rows)
	}
}
