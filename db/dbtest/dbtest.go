// Package dbtest gives each test a real, migrated database of its own.
package dbtest

import (
	"log/slog"
	"path/filepath"
	"testing"

	"taskyard/db"
)

// New opens a migrated database in a temporary folder and closes it when the
// test ends. Each with may change the options, the clock for instance.
func New(t testing.TB, with ...func(*db.Options)) *db.DB {
	t.Helper()
	return Open(t, filepath.Join(t.TempDir(), "taskyard.db"), with...)
}

// Open is New for a file that the caller names, which may exist already.
// Closing it earlier is allowed.
func Open(t testing.TB, path string, with ...func(*db.Options)) *db.DB {
	t.Helper()
	opt := db.Options{Path: path, Log: slog.New(slog.DiscardHandler)}
	for _, w := range with {
		w(&opt)
	}
	d, err := db.Open(t.Context(), opt)
	if err != nil {
		t.Fatalf("open database: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close database: %v", err)
		}
	})
	return d
}
