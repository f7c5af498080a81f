// Package dbtest gives each test a real, migrated database of its own.
package dbtest

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"taskyard/db"
)

// New opens a migrated database in a temporary folder and closes it when the
// test ends. Each with may change the options, the clock for instance.
// Commits do not wait for the disk.
func New(t testing.TB, with ...func(*db.Options)) *db.DB {
	t.Helper()
	return Open(t, filepath.Join(t.TempDir(), "taskyard.db"), with...)
}

// Open is New for a file that the caller names, which may exist already.
// Closing it earlier is allowed.
func Open(t testing.TB, path string, with ...func(*db.Options)) *db.DB {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(path, migrated(t), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opt := db.Options{Path: path, Log: slog.New(slog.DiscardHandler), NoSync: true}
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

// fresh is an empty database: the migrations run once per test process.
var fresh struct {
	once sync.Once
	file []byte
	err  error
}

func migrated(t testing.TB) []byte {
	t.Helper()
	fresh.once.Do(func() {
		path := filepath.Join(t.TempDir(), "fresh.db")
		d, err := db.Open(t.Context(), db.Options{Path: path, Log: slog.New(slog.DiscardHandler), NoSync: true})
		if err == nil {
			err = d.Close()
		}
		if err == nil {
			fresh.file, err = os.ReadFile(path)
		}
		fresh.err = err
	})
	if fresh.err != nil {
		t.Fatalf("migrate a database: %v", fresh.err)
	}
	return fresh.file
}
