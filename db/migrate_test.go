package db_test

import (
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"taskyard/db"
)

// A script that starts a server and creates a token at the same time runs two
// processes that find no schema.
func TestSeveralProcessesMayOpenANewInstanceAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "taskyard.db")
	var all sync.WaitGroup
	begin := make(chan struct{})
	for range 12 {
		all.Go(func() {
			<-begin
			d, err := db.Open(t.Context(), db.Options{Path: path, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
			if err != nil {
				t.Error(err)
				return
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	all.Wait()
	if left, err := filepath.Glob(path + ".before-*"); err != nil || len(left) != 0 {
		t.Errorf("copies of a new database: got %v, %v, want none", left, err)
	}
}
