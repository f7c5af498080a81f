package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
)

func TestAWorkerRemovesTheFoldersOfRunsThatEndedLongAgo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := time.Now().Add(-91 * 24 * time.Hour)
	for name, at := range map[string]time.Time{
		"run-1-1/work": long, "run-2-1/work": time.Now(),
		"run-3-1/work": long, "tree-4/work": long, "tree-5/git": long, "notes/work": long,
	} {
		folder := filepath.Dir(filepath.Join(dir, name))
		testkit.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
		testkit.NoError(t, os.Chtimes(folder, at, at))
	}
	left := func() string {
		list, err := os.ReadDir(dir)
		testkit.NoError(t, err)
		var names []string
		for _, e := range list {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	srv := newWorkerServer(t)
	srv.work("--labels", "gpu", "--dir", dir)
	testkit.Eventually(t, "old folders are removed", func() bool { return left() == "notes run-2-1 tree-4" })
}
