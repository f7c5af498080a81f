package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"taskyard/db"
)

// openStore creates a database of size claimable tasks in folder, each with two
// steps, a resource and a comment.
func openStore(ctx context.Context, folder string, size int) (*store, error) {
	s := &store{size: size, path: filepath.Join(folder, fmt.Sprintf("bench-%d.db", size))}
	d, err := db.Open(ctx, db.Options{Path: s.path})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(fill(ctx, d, size), d.Close(), copyFile(s.path+".filled", s.path)); err != nil {
		return nil, err
	}
	return s, s.open(ctx)
}

func (s *store) open(ctx context.Context) error {
	sql, err := recordStatements()
	if err != nil {
		return err
	}
	if s.db, err = db.Open(ctx, db.Options{Path: s.path}); err != nil {
		return err
	}
	if s.limit, err = openLimit(s.path, sql); err != nil {
		return errors.Join(err, s.db.Close())
	}
	return nil
}

// again restores the initial database: creates would make that of the next
// round larger.
func (s *store) again(ctx context.Context) error {
	return errors.Join(s.close(), removeDatabase(s.path), copyFile(s.path, s.path+".filled"), s.open(ctx))
}

func (s *store) close() error {
	s.limit.close()
	return s.db.Close()
}

// removeDatabase deletes a database with its additional SQLite files.
func removeDatabase(path string) (err error) {
	for _, end := range []string{"", "-wal", "-shm"} {
		if e := os.Remove(path + end); e != nil && !os.IsNotExist(e) {
			err = errors.Join(err, e)
		}
	}
	return err
}

func copyFile(to, from string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Sync(), w.Close())
}
