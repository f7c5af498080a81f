package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxBeside bounds the number of rules for hidden folders: one for each file
// and folder next to them or to one of their parents.
const maxBeside = 20_000

// allowBeside makes every file readable except those below the hidden folders.
// Landlock has no exceptions, so everything else is listed. Therefore, files
// that are created later next to a hidden folder, or next to one of its
// parents, cannot be read either, and those folders cannot be listed.
func allowBeside(set int, hidden []string) error {
	hide, above := map[string]bool{}, map[string]bool{}
	for _, dir := range hidden {
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return err
		}
		for hide[dir] = true; dir != "/"; {
			dir = filepath.Dir(dir)
			above[dir] = true
		}
	}
	rules := 0
	for dir := range above {
		if hide[dir] {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		if rules += len(entries); rules > maxBeside {
			return fmt.Errorf("%s: more than %d files and folders lie beside the hidden one: move it into a folder of its own", dir, maxBeside)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			// The target of a link has its own rule, or must not be read.
			if hide[path] || above[path] || e.Type()&os.ModeSymlink != 0 {
				continue
			}
			// A file may have been deleted or replaced by a link in the
			// meantime.
			if err := allow(set, path, fsRead); err != nil && !isGone(err) {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return nil
}

func isGone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EBADFD) || errors.Is(err, unix.EACCES)
}
