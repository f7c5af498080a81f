package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"taskyard/service"
	"taskyard/task"
)

// measureIndexing compares creates with and without concurrent indexing for the
// search.
func measureIndexing(ctx context.Context, s *sheet, folder string, rounds int, d time.Duration) error {
	svc, store, err := openService(ctx, filepath.Join(folder, "index"), fmt.Sprintf(pullOnly, "bench"), "")
	if err != nil {
		return err
	}
	a := newAuthor()
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = a.text(i)
	}
	create := func() (lap, error) {
		return drive(64, d, func(_ int, n int64) error {
			_, err := svc.CreateTask(ctx, task.SystemActor,
				task.New{Title: "a task of the bench", Description: texts[n%1000], Owner: "bench", NoStart: true})
			return err
		})
	}
	for range rounds {
		off, e := create()
		// The remaining work of the round must not affect the next one.
		err = errors.Join(err, e, catchUp(ctx, store))
		stop := follow(ctx, svc)
		on, e := create()
		err = errors.Join(err, e, stop(), catchUp(ctx, store))
		if err != nil {
			break
		}
		s.add("creates without search, 64 callers", "/s", none, off.rate())
		s.add("creates with search to those without", "", atLeast(0.7, 0.9), on.rate()/off.rate())
	}
	return errors.Join(err, store.Close())
}

// follow keeps the search index up to date like the server, until it is
// stopped.
func follow(ctx context.Context, svc *service.Service) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		for {
			if err := svc.Index(ctx); err != nil {
				ended <- err
				return
			}
			select {
			case <-ctx.Done():
				ended <- ctx.Err()
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() error {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
}
