package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"taskyard/internal/testkit"
)

// asvs is the number of requirements of levels 1 and 2 in each section of ASVS 5.0.0,
// which are the first ones. aisvs is the same for AISVS 1.0, with all levels.
var (
	asvs = map[string]int{
		"1.1": 2, "1.2": 9, "1.3": 11, "1.4": 3, "1.5": 2, "2.1": 3, "2.2": 3, "2.3": 4, "2.4": 1,
		"3.2": 2, "3.3": 4, "3.4": 6, "3.5": 5, "3.7": 2, "4.1": 3, "4.2": 1, "4.3": 2, "4.4": 4,
		"5.1": 1, "5.2": 3, "5.3": 2, "5.4": 3, "6.1": 3, "6.2": 12, "6.3": 4, "6.4": 4, "6.5": 5, "6.6": 3, "6.8": 4,
		"7.1": 3, "7.2": 4, "7.3": 2, "7.4": 5, "7.5": 2, "7.6": 2, "8.1": 2, "8.2": 3, "8.3": 1, "8.4": 1, "9.1": 3, "9.2": 4,
		"10.1": 2, "10.2": 2, "10.3": 4, "10.4": 11, "10.5": 5, "10.6": 2, "10.7": 3,
		"11.1": 2, "11.2": 3, "11.3": 3, "11.4": 4, "11.5": 1, "11.6": 1, "12.1": 3, "12.2": 2, "12.3": 4,
		"13.1": 1, "13.2": 5, "13.3": 2, "13.4": 5, "14.1": 2, "14.2": 4, "14.3": 3, "15.1": 3, "15.2": 3, "15.3": 7,
		"16.1": 1, "16.2": 5, "16.3": 4, "16.4": 3, "16.5": 3, "17.1": 1, "17.2": 4, "17.3": 2,
	}
	aisvs = map[string]int{
		"9.1": 5, "9.2": 6, "9.3": 6, "9.4": 4, "9.5": 5, "9.6": 6, "9.7": 5, "9.8": 6, "10.1": 2, "10.2": 7, "10.3": 5, "10.4": 7,
	}
)

// The tables of docs/security.md contain every requirement once, and the tests that
// they name exist.
func TestTheSecurityTablesAreComplete(t *testing.T) {
	t.Parallel()
	text := read(t, "docs/security.md")
	first, second, ok := strings.Cut(text, "## OWASP AISVS")
	if !ok {
		t.Fatal("there is no part about AISVS")
	}
	for _, part := range []struct {
		name, text string
		sections   map[string]int
	}{{"ASVS", first, asvs}, {"AISVS", second, aisvs}} {
		found := map[string]int{}
		for line := range strings.Lines(part.text) {
			cells := strings.Split(line, "|")
			if len(cells) < 4 {
				continue
			}
			for _, id := range regexp.MustCompile(`\b\d+\.\d+\.\d+\b`).FindAllString(cells[1], -1) {
				found[id]++
			}
		}
		for section, n := range part.sections {
			for i := 1; i <= n; i++ {
				id := fmt.Sprintf("%s.%d", section, i)
				if found[id] != 1 {
					t.Errorf("%s %s is in %d rows, want 1", part.name, id, found[id])
				}
				delete(found, id)
			}
		}
		for id := range found {
			t.Errorf("%s %s is not in these levels", part.name, id)
		}
	}
	tests := testNames(t)
	for _, name := range regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1) {
		if !tests[name[1]] {
			t.Errorf("there is no test %s", name[1])
		}
	}
}

// testNames returns the names of all tests in the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names, declared := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(b, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	testkit.NoError(t, err)
	return names
}
