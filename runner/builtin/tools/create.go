package tools

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxWrite bounds a file that a tool writes, in bytes.
const maxWrite = 1 << 20

const createAbout = "Create a new file in the workspace, at most 1 MiB, with its " +
	"parent folders. It never overwrites a file: use edit to change one."

type createArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (b *Box) create(_ context.Context, a createArgs) (Result, error) {
	name, err := b.place(a.Path)
	if err != nil {
		return Result{}, err
	}
	switch {
	case name == "." || strings.HasSuffix(a.Path, "/"):
		return Result{}, errors.New("path: it names a folder, not a file")
	case len(a.Content) > maxWrite:
		return Result{}, fmt.Errorf("content: it is %s bytes long, at most %s are allowed: write it in parts, or with bash",
			count(len(a.Content)), count(maxWrite))
	}
	if err := b.refuseGit(name); err != nil {
		return Result{}, err
	}
	dir, err := b.folder(filepath.Dir(name))
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = dir.Close() }()
	base := filepath.Base(name)
	f, err := dir.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return Result{}, fmt.Errorf("%s exists already, and create never overwrites: read it, then use edit", name)
	}
	if err != nil {
		return Result{}, pathError(name, err)
	}
	if err := write(f, a.Content); err != nil {
		_ = dir.Remove(base)
		return Result{}, pathError(name, err)
	}
	b.remember(name, sha256.Sum256([]byte(a.Content)))
	lines := strings.Count(a.Content, "\n")
	if a.Content != "" && !strings.HasSuffix(a.Content, "\n") {
		lines++
	}
	return Result{
		Text:  fmt.Sprintf("created %s (%s, %s)", name, plural(lines, "line"), plural(len(a.Content), "byte")),
		Files: []string{filepath.ToSlash(name)},
	}, nil
}

// folder opens the folder of a file, and creates it if it does not exist. Work
// through the handle stays in that folder, even if its name later leads
// elsewhere.
func (b *Box) folder(name string) (*os.Root, error) {
	// Do not create anything on another file system.
	for above := name; ; above = filepath.Dir(above) {
		info, err := b.root.Stat(above)
		if errors.Is(err, fs.ErrNotExist) && above != "." {
			continue
		}
		if err == nil {
			err = b.refuseDir(above, info)
		} else {
			err = pathError(above, err)
		}
		if err != nil {
			return nil, err
		}
		break
	}
	if err := b.root.MkdirAll(name, 0o777); err != nil {
		return nil, pathError(name, err)
	}
	return b.pin(name)
}

// pin opens a folder of this workspace, so that it stays the same while in use.
func (b *Box) pin(name string) (*os.Root, error) {
	dir, err := b.root.OpenRoot(name)
	if err != nil {
		return nil, pathError(name, err)
	}
	info, err := dir.Stat(".")
	if err == nil {
		err = b.refuseDir(name, info)
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// write writes the content of a file and closes it.
func write(f *os.File, content string) error {
	_, err := f.WriteString(content)
	return errors.Join(err, f.Close())
}
