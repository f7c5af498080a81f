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

// SessionKeeper is what a Sink may be besides: somebody who remembers the
// session of the agent's program, for a later run to continue from.
type SessionKeeper interface {
	// Session is called once the program has told it, one call at a time with
	// the methods of Sink. id has at most 100 characters.
	Session(id string)
}

// sessionID is what a session may be called: it becomes part of a path.
var sessionID = lazyregexp.New(`^[0-9a-fA-F-]{8,64}$`)

// ValidSession reports whether a program may call its session so: then the
// name can be part of a path.
func ValidSession(id string) bool { return sessionID().MatchString(id) }

// KeepSession notes what the program calls its session, for a later run to
// continue from. An invalid name is passed over.
func (r *Run) KeepSession(id string) {
	if !ValidSession(id) || id == r.kept {
		return
	}
	r.kept = id
	if keeper, ok := r.sink.(SessionKeeper); ok {
		keeper.Session(id)
	}
}

// SessionFolder lies in the folder of a run, for a session that the program
// may write.
const SessionFolder = "session"

// maxSession is how many bytes of a session are taken over.
const maxSession = 64 << 20

// TakeSession copies the file of an interrupted attempt's session to where to
// says, and returns the path of the copy; "" where there is none. Then the
// program starts over, which does no harm. The file is the only one of a
// pattern of fs.Glob below the folder of that attempt; the first pattern that
// has one counts. to gets its path there, and may return "".
func TakeSession(spec Spec, to func(found string) string, patterns ...string) (path string) {
	if spec.Former == "" || !ValidSession(spec.Session) {
		return ""
	}
	// What lies there was written by an agent: no link may lead out of it.
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
