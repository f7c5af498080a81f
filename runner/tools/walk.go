package tools

import (
	"context"
	"errors"
	"io/fs"
	"path"
)

// maxWalk bounds the entries that one search looks at.
const maxWalk = 200_000

// errEnough ends a walk early, without an error.
var errEnough = errors.New("enough")

// walk calls each for every entry below a folder but other folders, in the
// order of names. Links are not followed; .git folders, other file systems and
// folders that cannot be read are passed over. whole is false when the walk
// was cut short at maxWalk entries.
func (b *Box) walk(ctx context.Context, folder string, each func(name string, e fs.DirEntry) error) (whole bool, err error) {
	left := maxWalk
	err = b.descend(ctx, folder, &left, each)
	if errors.Is(err, errEnough) {
		return left > 0, nil
	}
	return true, err
}

func (b *Box) descend(ctx context.Context, folder string, left *int, each func(string, fs.DirEntry) error) error {
	entries, _, err := b.entries(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return errStopped
		}
		if *left--; *left <= 0 {
			return errEnough
		}
		name := path.Join(folder, e.Name())
		switch {
		case !e.IsDir():
			err = each(name, e)
		case e.Name() == ".git":
			continue
		default:
			err = b.descend(ctx, name, left, each)
			if !errors.Is(err, errEnough) && !errors.Is(err, errStopped) && !errors.Is(err, errTooLong) {
				err = nil // gone, forbidden or of another file system
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
