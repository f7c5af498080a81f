package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// The approximate size of a claim's commit in the write-ahead log, and how
// often it is written to measure the disk.
const (
	syncBytes = 32 << 10
	syncs     = 200
)

// syncTime returns the median time for a write and fsync of a file in a folder.
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
