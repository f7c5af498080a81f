package tools

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"taskyard/runner/instance"
)

const editAbout = "Change a text file in the workspace: replaces old_text, which must occur exactly once, with " +
	"new_text. Read the file first; if it has changed since, read it again. At most 1 MiB."

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old_text"`
	New  string `json:"new_text"`
}

func (b *Box) edit(_ context.Context, a editArgs) (Result, error) {
	name, err := b.place(a.Path)
	if err != nil {
		return Result{}, err
	}
	if err := b.refuseGit(name); err != nil {
		return Result{}, err
	}
	// Hold the folder open, so that replacing it has no effect.
	dir, err := b.pin(filepath.Dir(name))
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = dir.Close() }()
	old, info, err := b.readSeen(dir, name)
	if err != nil {
		return Result{}, err
	}
	changed, line, err := replaceOnce(name, old, a.Old, a.New)
	if err != nil {
		return Result{}, err
	}
	if err := b.exchange(dir, name, changed, info); err != nil {
		return Result{}, err
	}
	b.remember(name, sha256.Sum256([]byte(changed)))
	return Result{
		Text:  fmt.Sprintf("edited %s at line %s (%s)", name, count(line), plural(len(changed), "byte")),
		Files: []string{filepath.ToSlash(name)},
	}, nil
}

// readSeen returns the content of a file that the agent has read here and that has
// not changed since.
func (b *Box) readSeen(dir *os.Root, name string) (content string, info fs.FileInfo, err error) {
	base := filepath.Base(name)
	b.mu.Lock()
	seen, ok := b.seen[name]
	b.mu.Unlock()
	f, info, err := b.open(dir, base, name, false, func(name string, info fs.FileInfo) error {
		if info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link: edit the file that it leads to", name)
		}
		if err := b.refuseFile(name, info); err != nil {
			return err
		}
		if info.Size() > maxWrite {
			return fmt.Errorf("%s is %s bytes long, at most %s can be edited: use bash", name, count(info.Size()), count(maxWrite))
		}
		if !ok {
			return fmt.Errorf("%s was not read yet: read it first, then edit it", name)
		}
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxWrite+1))
	if err != nil {
		return "", nil, pathError(name, err)
	}
	if sha256.Sum256(text) != seen {
		return "", nil, fmt.Errorf("%s was changed since it was read: read it again, then edit it", name)
	}
	return string(text), info, nil
}

// replaceOnce replaces the only occurrence of old. line is where it begins.
func replaceOnce(name, content, old, updated string) (changed string, line int, err error) {
	// Reading shows lines without their endings, so a model cannot know about
	// CRLF.
	if strings.Contains(content, "\r\n") && !strings.Contains(old, "\r") {
		old, updated = strings.ReplaceAll(old, "\n", "\r\n"), strings.ReplaceAll(updated, "\n", "\r\n")
	}
	switch n := strings.Count(content, old); {
	case old == updated:
		return "", 0, errors.New("new_text: it is the same as old_text")
	case n == 0:
		return "", 0, fmt.Errorf("old_text: not found in %s: copy it exactly, with its spaces and tabs, without the line numbers", name)
	case n > 1 || strings.Contains(content[strings.Index(content, old)+1:], old):
		return "", 0, fmt.Errorf("old_text: found more than once in %s (lines %s): include more of the lines around it",
			name, matchLines(content, old))
	}
	at := strings.Index(content, old)
	changed = content[:at] + updated + content[at+len(old):]
	if len(changed) > maxWrite {
		return "", 0, fmt.Errorf("new_text: the file would be %s bytes long, at most %s are allowed", count(len(changed)), count(maxWrite))
	}
	return changed, 1 + strings.Count(content[:at], "\n"), nil
}

// matchLines lists the lines where old occurs, at most five.
func matchLines(content, old string) string {
	var lines []string
	for from := 0; ; {
		at := strings.Index(content[from:], old)
		if at < 0 {
			return strings.Join(lines, ", ")
		}
		if len(lines) == 5 {
			return strings.Join(lines, ", ") + " …"
		}
		from += at + 1
		lines = append(lines, count(1+strings.Count(content[:from-1], "\n")))
	}
}

// exchange replaces a file atomically.
func (b *Box) exchange(dir *os.Root, name, content string, before fs.FileInfo) error {
	base, temp := filepath.Base(name), ".taskyard-"+rand.Text()
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, before.Mode().Perm())
	if err != nil {
		return pathError(name, err)
	}
	_ = f.Chmod(before.Mode().Perm()) // the umask has cleared some bits
	err = write(f, content)
	if now, statErr := dir.Lstat(base); err == nil && (statErr != nil || instance.Identify(now) != instance.Identify(before)) {
		err = fmt.Errorf("%s was changed meanwhile: read it again, then edit it", name)
	} else if err == nil {
		err = dir.Rename(temp, base)
	}
	if err != nil {
		_ = dir.Remove(temp)
		return pathError(name, err)
	}
	return nil
}
