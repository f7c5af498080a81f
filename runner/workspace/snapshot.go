package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"

	"taskyard/runner/instance"
)

// The bounds of the contents in a snapshot.
const (
	maxKept    = 64 << 10 // bytes of one file
	maxKeptAll = 64 << 20 // bytes of all files, on disk
)

// snapshot is the state of a folder at one time.
type snapshot struct {
	files map[string]entry // by path below the folder, with slashes
	cut   string           // why it is incomplete; files are then not compared
	deep  bool             // deeply nested folders were left out
	spool *os.File         // earlier contents; nil: none are kept
	size  int64            // bytes in the spool
}

// entry is one file, link or special file.
type entry struct {
	mode           fs.FileMode
	size, modified int64
	inode          uint64
	touched        int64
	sum            [8]byte // of its contents, if known
	known          bool
	binary         bool  // it contains NUL; its contents are not kept
	at             int64 // offset in the spool, -1: not kept
}

// same reports whether a file is unchanged between two snapshots.
func (e entry) same(f entry) bool {
	return e.mode == f.mode && e.size == f.size && e.modified == f.modified && e.inode == f.inode && e.touched == f.touched
}

// takeOutline takes a snapshot without contents.
func takeOutline(ctx context.Context, folder string) *snapshot {
	return (&snapshot{}).fill(ctx, folder, func(*os.Root, string, *entry) {})
}

// takeSnapshot takes a snapshot and keeps the contents of small text files in dir, so
// that their lines can be compared later.
func takeSnapshot(ctx context.Context, folder, dir string) *snapshot {
	s := &snapshot{}
	if err := os.MkdirAll(dir, 0o700); err == nil {
		s.spool, _ = os.CreateTemp(dir, "before-") // without it no lines are compared
	}
	budget := int64(maxKeptAll)
	return s.fill(ctx, folder, func(root *os.Root, name string, e *entry) {
		if !e.mode.IsRegular() && e.mode&fs.ModeSymlink == 0 || e.size > maxKept || e.size > budget {
			return
		}
		b, err := readPlain(root, name, maxKept)
		if err != nil {
			return
		}
		budget -= int64(len(b))
		e.sum, e.known = contentSum(b), true
		e.size = int64(len(b)) // the bytes that were read count
		if e.binary = bytes.IndexByte(b, 0) >= 0; !e.binary {
			e.at = s.store(b)
		}
	})
}

func contentSum(b []byte) (sum [8]byte) {
	full := sha256.Sum256(b)
	copy(sum[:], full[:])
	return sum
}

func (s *snapshot) fill(ctx context.Context, folder string, more func(*os.Root, string, *entry)) *snapshot {
	s.files = map[string]entry{}
	deep, err := walk(ctx, folder, func(root *os.Root, name, path string, info fs.FileInfo) {
		e := entry{mode: info.Mode(), size: info.Size(), modified: info.ModTime().UnixNano(), at: -1}
		id := instance.Identify(info)
		e.inode, e.touched = id.Inode, id.Touched
		more(root, name, &e)
		s.files[path] = e
	})
	s.deep = deep
	if err != nil {
		s.files, s.cut = nil, err.Error()
	}
	return s
}

// store appends contents to the spool and returns their offset.
func (s *snapshot) store(b []byte) int64 {
	if s.spool == nil {
		return -1
	}
	at := s.size
	if _, err := s.spool.WriteAt(b, at); err != nil {
		return -1 // disk full: the lines of this file will not be compared
	}
	s.size += int64(len(b))
	return at
}

// contents returns the kept contents of a file.
func (s *snapshot) contents(e entry) ([]byte, bool) {
	if s.spool == nil || e.at < 0 {
		return nil, false
	}
	b := make([]byte, e.size)
	_, err := s.spool.ReadAt(b, e.at)
	return b, err == nil || len(b) == 0
}

// close deletes the kept contents.
func (s *snapshot) close() {
	if s.spool != nil {
		_ = s.spool.Close()
		_ = os.Remove(filepath.Clean(s.spool.Name()))
		s.spool = nil
	}
}
