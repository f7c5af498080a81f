package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"taskyard/runner/instance"
	"taskyard/task"
)

// maxPath bounds a path, in bytes.
const maxPath = 4096

// place converts the path that a model gives to one below the workspace:
// cleaned, relative, "." for the workspace itself. It opens nothing; os.Root
// ensures that symbolic links stay inside.
func (b *Box) place(given string) (string, error) {
	switch {
	case len(given) > maxPath:
		return "", fmt.Errorf("path: it is %s bytes long, at most %s are allowed", count(len(given)), count(maxPath))
	case !utf8.ValidString(given) || strings.ContainsRune(given, 0):
		return "", errors.New("path: it holds NUL or is not valid UTF-8")
	case given == "":
		return ".", nil
	}
	name := given
	if filepath.IsAbs(given) {
		name = ""
		for _, root := range b.places {
			if rel, err := filepath.Rel(root, given); err == nil && filepath.IsLocal(rel) {
				name = rel
				break
			}
		}
	}
	if !filepath.IsLocal(name) {
		return "", outsideError(given)
	}
	return filepath.Clean(name), nil
}

// refuseGit returns an error for a file that would be within a folder .git, also
// by a link: a person's Git runs the programs that files there name.
func (b *Box) refuseGit(name string) error {
	isGit := func(path string) bool {
		return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), func(s string) bool { return strings.EqualFold(s, ".git") })
	}
	resolved := instance.Resolve(filepath.Join(b.root.Name(), name))
	if rel, err := filepath.Rel(instance.Resolve(b.root.Name()), resolved); isGit(name) || err == nil && isGit(rel) {
		return fmt.Errorf("path: %s is part of Git's own data, which only Git may change: it is refused", name)
	}
	return nil
}

func outsideError(given string) error {
	return fmt.Errorf("path: %s is outside the workspace: use paths below it, such as src/main.go", task.ClipChars(given, 200))
}

// pathError converts a file system error to one for the model, without paths of
// this machine.
func pathError(name string, err error) error {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", name)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s exists already", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied", name)
	case errors.As(err, &pathErr):
		err = pathErr.Err
	case errors.As(err, &linkErr):
		err = linkErr.Err
	}
	if strings.Contains(err.Error(), "escapes from parent") {
		return fmt.Errorf("path: %s leads out of the workspace by a symbolic link: it is refused", name)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// openFile opens a regular file that belongs only to this workspace: no device,
// pipe or socket, no hard link from elsewhere, no other file system.
func (b *Box) openFile(name string) (*os.File, fs.FileInfo, error) {
	return b.open(b.root, name, name, true, b.refuseFile)
}

// open opens a file or folder by its name below dir. Opening can have side
// effects, so the file is examined first: see instance.Open.
func (b *Box) open(dir *os.Root, base, name string, follow bool, refuse func(string, fs.FileInfo) error) (*os.File, fs.FileInfo, error) {
	var why error
	f, info, err := instance.Open(dir, base, follow, func(info fs.FileInfo) error {
		why = refuse(name, info)
		return why
	})
	switch {
	case why != nil:
		return nil, nil, why
	case err != nil:
		return nil, nil, pathError(name, err)
	}
	return f, info, nil
}

// refuseFile returns why a file must not be used, or nil.
func (b *Box) refuseFile(name string, info fs.FileInfo) error {
	id := instance.Identify(info)
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a folder: use list", name)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is %s, not a file: it is refused", name, kind(info.Mode()))
	case id.Device != b.device:
		return fmt.Errorf("%s is on a different file system from the workspace: it is refused", name)
	case id.Links > 1:
		return fmt.Errorf("%s has %s names (hard links), and the others may lie outside the workspace: it is refused",
			name, count(int64(id.Links)))
	}
	return nil
}

// openDir opens a folder of this workspace.
func (b *Box) openDir(name string) (*os.File, error) {
	f, _, err := b.open(b.root, name, name, true, b.refuseDir)
	return f, err
}

func (b *Box) refuseDir(name string, info fs.FileInfo) error {
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", name)
	case instance.Identify(info).Device != b.device:
		return fmt.Errorf("%s is on a different file system from the workspace: it is refused", name)
	case instance.IsProtected(info):
		return pathError(name, instance.ErrProtected)
	}
	return nil
}

// kind names a file type other than file and folder.
func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}
