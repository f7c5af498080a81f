package db

import (
	"context"
	"database/sql"
	"log/slog"
	"time"
)

const (
	largeCopy = 256 << 20        // bytes from which on a copy is announced
	copyNews  = 10 * time.Second // between two lines about it
)

// copyWithProgress is vacuumInto for the database at path. Nobody is answered meanwhile,
// which may be minutes, so the log says what is done and how far it is.
func copyWithProgress(ctx context.Context, db *sql.DB, path, to string, log *slog.Logger) error {
	size := fileSize(path)
	if size < largeCopy {
		return vacuumInto(ctx, db, to)
	}
	log.Info("copying the database before its migration; the server starts afterwards", "file", to, "megabytes", size/1e6)
	end := func() {}
	defer func() { end() }()
	return writeCopy(ctx, to, func(tmp string) error {
		end = logCopyProgress(log, size, func() int64 { return fileSize(tmp) })
		_, err := db.ExecContext(ctx, "VACUUM INTO ?", tmp)
		return err
	})
}

// logCopyProgress logs how much of size is written, until the returned function is
// called. What is written at last is checked, without a change of its size.
func logCopyProgress(log *slog.Logger, size int64, written func() int64) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(copyNews)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				log.Info("still copying and checking the database", "megabytes", written()/1e6, "of", size/1e6)
			}
		}
	}()
	return func() { close(stop); <-ended }
}
