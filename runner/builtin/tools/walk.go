package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"
)

// The bounds of one search.
const (
	maxWalk  = 200_000 // entries that are visited
	maxDepth = 100     // nested folders
)

// searchTime bounds the duration of a search.
const searchTime = 30 * time.Second

var (
	// errEnough ends a walk early, without an error.
	errEnough  = errors.New("enough")
	errTooLong = fmt.Errorf("the search took longer than %v: search one folder with path, or fewer files with a narrower pattern or glob",
		searchTime)
)

// timed limits the duration of a search.
func (b *Box) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, cmp.Or(b.opts.searchTime, searchTime), errTooLong)
}

// interrupted returns the error of a search that may have been cut short by its
// context.
func interrupted(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errTooLong):
		return errTooLong
	case ctx.Err() != nil:
		return errStopped
	}
	return err
}

// walk calls each for every entry below a folder except folders, in order of
// name. Links are not followed; .git folders, other file systems and unreadable
// folders are skipped. complete is false if a bound cut the walk short.
func (b *Box) walk(ctx context.Context, folder string, each func(name string, e fs.DirEntry) error) (complete bool, err error) {
	w := &walk{remaining: maxWalk, complete: true, each: each}
	err = b.descend(ctx, folder, 0, w)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return w.complete, err
}

// walk is one search.
type walk struct {
	remaining int // entries
	open      int // entries of the open folders, at most maxFolder
	complete  bool
	each      func(string, fs.DirEntry) error
}

func (b *Box) descend(ctx context.Context, folder string, depth int, w *walk) error {
	entries, complete, err := b.entries(ctx, folder, maxFolder-w.open)
	if err != nil {
		return err
	}
	w.open += len(entries)
	defer func() { w.open -= len(entries) }()
	w.complete = w.complete && complete
	for _, e := range entries {
		if ctx.Err() != nil {
			return errStopped
		}
		if w.remaining--; w.remaining < 0 {
			w.complete = false
			return errEnough
		}
		name := path.Join(folder, e.Name())
		switch {
		case !e.IsDir():
			err = w.each(name, e)
		case e.Name() == ".git":
			continue
		case depth == maxDepth:
			w.complete = false
			continue
		default:
			err = b.descend(ctx, name, depth+1, w)
			if !errors.Is(err, errEnough) && !errors.Is(err, errStopped) {
				err = nil // deleted, forbidden or on another file system
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
