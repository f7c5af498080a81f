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

// openStore makes a database of size claimable tasks, each with two steps, a
// resource and a comment, in folder.
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
	sql, err := said()
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

// again puts the database back as it was filled: a round of creates would leave
// the next one a larger one.
func (s *store) again(ctx context.Context) error {
	return errors.Join(s.close(), removeDatabase(s.path), copyFile(s.path, s.path+".filled"), s.open(ctx))
}

func (s *store) close() error {
	s.limit.close()
	return s.db.Close()
}

// removeDatabase removes a database with what SQLite keeps beside it.
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
