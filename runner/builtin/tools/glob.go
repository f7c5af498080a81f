package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// maxGlob bounds the files of one result.
const maxGlob = 200

const globAbout = "Find files in the workspace by name: * within a folder, ** across folders, {a,b}, " +
	"[a-z]. Sorted, at most 200; offset shows the rest. .git is skipped."

type globArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Offset  int    `json:"offset"`
}

func (b *Box) glob(ctx context.Context, a globArgs) (Result, error) {
	folder, err := b.place(a.Path)
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := b.timed(ctx)
	defer cancel()
	matches, err := matcher(ctx, folder, a.Pattern)
	if err != nil {
		return Result{}, err
	}
	from, found := max(a.Offset, 1)-1, 0
	var out strings.Builder
	complete, err := b.walk(ctx, folder, func(name string, _ fs.DirEntry) error {
		if !matches(name) {
			return nil
		}
		if found >= from && found < from+maxGlob {
			out.WriteString(quoteUnprintable(name) + "\n")
		}
		found++
		return nil
	})
	if err = interrupted(ctx, err); err != nil {
		return Result{}, err
	}
	switch {
	case found == 0:
		out.WriteString("no file matches\n")
	case found <= from:
		return Result{}, fmt.Errorf("offset: %s match", plural(found, "file"))
	case found > from+maxGlob:
		fmt.Fprintf(&out, "[files %s to %s of %s; continue with offset=%d, or narrow the pattern]\n",
			count(from+1), count(from+maxGlob), count(found), from+maxGlob+1)
	}
	return Result{Text: out.String() + cutShort(complete)}, nil
}

// cutShort describes an incomplete walk.
func cutShort(complete bool) string {
	if complete {
		return ""
	}
	return fmt.Sprintf("[not all was looked at: %s files and %d folders below each other at most; give path to look in one folder]\n",
		count(maxWalk), maxDepth)
}

// matcher returns a function that tests a name below the workspace, until ctx
// ends. Patterns are relative to folder. The caller handles patterns without a
// slash, which have their own meaning in grep.
func matcher(ctx context.Context, folder, glob string) (func(name string) bool, error) {
	glob = filepath.ToSlash(glob)
	if path.IsAbs(glob) || strings.Contains("/"+glob+"/", "/../") {
		return nil, errors.New("pattern: it is relative to the folder in path, without .. and without / in front")
	}
	expr, err := globExpr(path.Clean(glob))
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	p, err := compilePattern(expr)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	return func(name string) bool {
		rel, err := filepath.Rel(folder, name)
		return err == nil && p.match(ctx, []byte(filepath.ToSlash(rel)))
	}, nil
}

// Glob returns a function that tests a slash-separated path against a glob
// pattern.
func Glob(pattern string) (func(path string) bool, error) {
	return matcher(context.Background(), ".", pattern)
}
