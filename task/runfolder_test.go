package task

import "testing"

func TestRunFoldersAreRecognizedByName(t *testing.T) {
	t.Parallel()
	for _, f := range []RunFolder{StartFolder(1, 1), StartFolder(1234567, 89), TreeFolder(5), TreeFolder(1 << 60)} {
		if got, ok := ParseRunFolder(f.Name); !ok || got != f {
			t.Errorf("%s: got %+v, %v", f.Name, got, ok)
		}
	}
	for _, name := range []string{
		"", "run", "run-", "run-1", "run-1-", "run--1-1", "run-1--1", "run-01-1", "run-1-01",
		"run-0-1", "run-1-0", "run-1-1-1", "run-1-1 ", "run-1-1.bak",
		"Run-1-1", "1-1", "-1-1", "tree-", "tree-0", "tree-1-1", "tree-01", "tree-99999999999999999999",
		".removing", "..", "run-+1-1", "run-1-1/", "tree-run-1-1",
	} {
		if f, ok := ParseRunFolder(name); ok {
			t.Errorf("%q: got %+v, want no folder", name, f)
		}
	}
}
