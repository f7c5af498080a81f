package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// About what a commit of a claim appends to the write-ahead log, and how often
// that is done to learn what the disk takes for it.
const (
	syncBytes = 32 << 10
	syncs     = 200
)

// syncTime is the median time in which a file of a folder takes a write and is
// synced.
func syncTime(folder string) (time.Duration, error) {
	f, err := os.Create(filepath.Join(folder, "sync"))
	if err != nil {
		return 0, err
	}
	var l lap
	block := make([]byte, syncBytes)
	for range syncs {
		begin := time.Now()
		if _, err = f.Write(block); err == nil {
			err = f.Sync()
		}
		if err != nil {
			break
		}
		l.took = append(l.took, time.Since(begin))
	}
	return l.percentile(0.5), errors.Join(err, f.Close(), os.Remove(f.Name()))
}
