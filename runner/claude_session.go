package runner

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"taskyard/runner/instance"
)

// sessionID is what a session may be called: it becomes part of a path.
var sessionID = regexp.MustCompile(`^[0-9a-fA-F-]{8,64}$`)

const (
	sessionFolder = "session"
	maxSession    = 64 << 20 // bytes of a session that is resumed
)

// takeSession copies the session of a former attempt into the folder of this
// one, where the program keeps writing it, and returns the path of the copy;
// "" where there is none. Then the program starts over, which does no harm.
func takeSession(spec Spec) string {
	if spec.Former == "" || !sessionID.MatchString(spec.Session) {
		return ""
	}
	// What lies there was written by an agent: no link may lead out of it.
	root, err := os.OpenRoot(spec.Former)
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }()
	name := spec.Session + ".jsonl"
	from := findSession(root, path.Join(sessionFolder, name), formerHome+"/.claude/projects/*/"+name, "home/.claude/projects/*/"+name)
	if from == nil {
		return ""
	}
	defer func() { _ = from.Close() }()
	to := filepath.Join(spec.Dir, sessionFolder, name)
	if copySession(to, from) != nil {
		return ""
	}
	return to
}

// findSession opens the file that is the only one of its pattern; nil where
// there is none.
func findSession(root *os.Root, patterns ...string) *os.File {
	for _, pattern := range patterns {
		found, _ := fs.Glob(root.FS(), pattern)
		if len(found) != 1 {
			continue
		}
		if f, err := openPlain(root, found[0]); err == nil {
			return f
		}
	}
	return nil
}

// openPlain opens a regular file that is not too large.
func openPlain(root *os.Root, name string) (*os.File, error) {
	f, _, err := instance.Open(root, name, false, func(info fs.FileInfo) error {
		if !info.Mode().IsRegular() || info.Size() > maxSession {
			return fs.ErrInvalid
		}
		return nil
	})
	return f, err
}

func copySession(to string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(from, maxSession))
	if err != nil {
		return err
	}
	return writeNew(to, string(text), 0o600) // it may be the file that was read
}
