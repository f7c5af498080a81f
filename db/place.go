package db

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// companions are the endings of the files that SQLite keeps beside a database.
var companions = []string{"-wal", "-shm", "-journal"}

// resolve returns the absolute path of a database file with all links
// followed, so that every name of a file leads to one lock and one journal.
// The file itself may be missing; its folder must exist. Error: the path is a
// link to nothing, as when a volume is not mounted; or it is empty, as that of a
// database of PostgreSQL is, which would be the working directory.
func resolve(path string) (string, error) {
	if path == "" {
		return "", errors.New("no database file is named")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return resolved, err
	}
	if target, err := os.Readlink(path); err == nil {
		return "", fmt.Errorf("%s is a link to %s, which does not exist: bring the file back (is its volume mounted?), or remove the link",
			path, target)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// checkPlace refuses a database file that must not be opened: one with further
// names, one that a restore has not put in place yet, and an empty or missing
// one beside what is left of another.
func checkPlace(path string) error {
	if pending(path) {
		return fmt.Errorf("%s: a restore is not finished; stop the server if it runs and start it again, which finishes the restore", path)
	}
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkNoLeftovers(path)
	case err != nil:
		return err
	case fi.Mode().IsRegular() && linkCount(fi) > 1:
		return fmt.Errorf("%s has %d names (hard links)%s: two servers on one file destroy it; remove the "+
			"other names (find them with find -samefile)", path, linkCount(fi), openedBy(path))
	case fi.Size() == 0:
		return checkNoLeftovers(path)
	}
	return nil
}

// checkNoLeftovers refuses to make a new database beside files that another one
// left: its data would look lost. Companions of no length are left by a first
// start that was cut off.
func checkNoLeftovers(path string) error {
	for _, suffix := range append([]string{".restoring", ".replaced"}, companions...) {
		if fi, err := os.Stat(path + suffix); err == nil && fi.Size() > 0 && !(suffix == "-journal" && fileExists(path)) {
			return leftoverError(path, path+suffix)
		}
	}
	backups := filepath.Join(filepath.Dir(path), "backups")
	for _, p := range [][2]string{
		{path, ".replaced-*"},
		{path, ".rescued-*"},
		{path, ".before-*"},
		{backups, "/*.db"},
		{backups, "/*.tar.zst"},
		{filepath.Dir(path), "/" + KeptPrefix + "*"},
	} {
		if list, err := filepath.Glob(globQuote(p[0]) + p[1]); err == nil && len(list) > 0 {
			return leftoverError(path, list[0])
		}
	}
	return nil
}

func leftoverError(path, file string) error {
	return fmt.Errorf("%s is missing or empty, but %s is there: no new database is made beside it. Put the database back, "+
		"restore a backup (taskyard restore --replace FILE), or move %s away to start over", path, file, filepath.Base(file))
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// globQuote keeps the characters of a path from being a pattern.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func linkCount(fi os.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // the types differ between systems
	}
	return 1
}

// openedBy names the process that has a database open, after a comma, or "".
// SQLite's own locks tell: they belong to the file under all its names. It
// opens and closes the file, which would drop the locks of this process.
func openedBy(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	// The bytes that each open connection holds for reading.
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: 0x40000002, Len: 510}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &l); err != nil || l.Type == syscall.F_UNLCK || l.Pid <= 0 {
		return ""
	}
	return fmt.Sprintf(", and process %d has it open", l.Pid)
}
