package supervise

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"taskyard/internal/lazyregexp"
	"taskyard/runner/instance"
)

// SessionKeeper is an optional interface of a Sink that stores the session of
// the agent's program, so that a later run can continue it.
type SessionKeeper interface {
	// Session is called once the program has reported its session, one call at
	// a time with the methods of Sink. id has at most 100 characters.
	Session(id string)
}

// sessionID matches valid session names, which become part of a path.
var sessionID = lazyregexp.New(`^[0-9a-fA-F-]{8,64}$`)

// ValidSession reports whether a session name can be part of a path.
func ValidSession(id string) bool { return sessionID().MatchString(id) }

// KeepSession stores the program's name for its session, so that a later run
// can continue it. Invalid names are ignored.
func (r *Run) KeepSession(id string) {
	if !ValidSession(id) || id == r.kept {
		return
	}
	r.kept = id
	if keeper, ok := r.sink.(SessionKeeper); ok {
		keeper.Session(id)
	}
}

// SessionFolder is a folder in the folder of a run, for a session that the
// program may write.
const SessionFolder = "session"

// maxSession bounds the size of a session that is taken over, in bytes.
const maxSession = 64 << 20

// TakeSession copies the session file of an interrupted attempt to the path
// that to returns, and returns that path, or "" if there is none. The program
// then starts over, which does no harm. The file must be the only match of an
// fs.Glob pattern below the folder of that attempt; the first pattern with a
// match is used. to receives the path of the file, and may return "".
func TakeSession(spec Spec, to func(found string) string, patterns ...string) (path string) {
	if spec.Former == "" || !ValidSession(spec.Session) {
		return ""
	}
	// An agent has written this folder: no link may lead out of it.
	root, err := os.OpenRoot(spec.Former)
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }()
	for _, pattern := range patterns {
		found, _ := fs.Glob(root.FS(), pattern)
		if len(found) != 1 {
			continue
		}
		from, err := openPlain(root, found[0])
		if err != nil {
			continue
		}
		defer func() { _ = from.Close() }()
		path = to(found[0])
		if path == "" || copySession(path, from) != nil {
			return ""
		}
		return path
	}
	return ""
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
	_ = os.Remove(to) // it may be the file that is read
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.LimitReader(from, maxSession))
	return errors.Join(err, f.Close())
}
