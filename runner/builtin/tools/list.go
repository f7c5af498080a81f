package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The bounds of list.
const (
	maxEntries = 1000
	maxFolder  = 100_000 // entries of a folder that are read at all
)

const listAbout = "List a folder in the workspace, sorted by name: folders end with /, files show their " +
	"size in bytes, links their target. At most 1,000 entries; offset shows the rest."

type listArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
}

func (b *Box) list(ctx context.Context, a listArgs) (Result, error) {
	name, err := b.place(a.Path)
	if err != nil {
		return Result{}, err
	}
	entries, complete, err := b.entries(ctx, name, maxFolder)
	if err != nil {
		return Result{}, err
	}
	from := max(a.Offset, 1) - 1
	if len(entries) == 0 {
		return Result{Text: name + " is empty"}, nil
	}
	if from >= len(entries) {
		return Result{}, fmt.Errorf("offset: %s has %s entries", name, count(len(entries)))
	}
	shown := entries[from:min(from+maxEntries, len(entries))]
	var out strings.Builder
	for _, e := range shown {
		out.WriteString(b.entry(name, e) + "\n")
	}
	if end := from + len(shown); end < len(entries) {
		fmt.Fprintf(&out, "[entries %s to %s of %s; continue with offset=%d]\n", count(from+1), count(end), count(len(entries)), end+1)
	}
	if !complete {
		fmt.Fprintf(&out, "[the folder has more than %s entries and only these were looked at; find "+
			"others with glob in its folders, or by name with read]\n", count(maxFolder))
	}
	return Result{Text: out.String()}, nil
}

// entry returns one line. Names with line breaks and similar characters are
// quoted.
func (b *Box) entry(folder string, e fs.DirEntry) string {
	name := quoteUnprintable(e.Name())
	switch {
	case e.IsDir():
		return name + "/"
	case e.Type()&fs.ModeSymlink != 0:
		target, err := b.root.Readlink(filepath.Join(folder, e.Name()))
		if err != nil {
			return name + " -> ?"
		}
		return name + " -> " + quoteUnprintable(target)
	case !e.Type().IsRegular():
		return name + " (" + kind(e.Type()) + ")"
	}
	info, err := b.root.Lstat(filepath.Join(folder, e.Name()))
	if err != nil {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, plural(int(info.Size()), "byte"))
}

// quoteUnprintable quotes a name that would break its line.
func quoteUnprintable(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// entries reads a folder, sorted by name; complete is false if it has more than
// most entries, and only that many are returned.
func (b *Box) entries(ctx context.Context, name string, limit int) (list []fs.DirEntry, complete bool, err error) {
	dir, err := b.openDir(name)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = dir.Close() }()
	list, complete, err = readAll(ctx, dir, limit)
	if err != nil {
		return nil, false, pathError(name, err)
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, complete, nil
}

func readAll(ctx context.Context, dir *os.File, limit int) (list []fs.DirEntry, complete bool, err error) {
	for ctx.Err() == nil {
		some, err := dir.ReadDir(1000)
		list = append(list, some...)
		switch {
		case len(list) > limit:
			return list[:limit], false, nil
		case errors.Is(err, io.EOF):
			return list, true, nil
		case err != nil:
			return nil, false, err
		}
	}
	return nil, false, errStopped
}
