package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxBeside bounds the rules that hiding a folder takes: one for each file and
// folder that lies beside it or beside a folder that holds it.
const maxBeside = 20_000

// allowBeside lets every file be read but those below the hidden folders.
// Landlock knows no exceptions, so all else is listed; what is made later
// beside a hidden folder, or beside one that holds it, cannot be read either,
// nor can those folders be listed.
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
			// What a link leads to has a rule of its own, or is not to be read.
			if hide[path] || above[path] || e.Type()&os.ModeSymlink != 0 {
				continue
			}
			// A file may vanish meanwhile, or be a link by now.
			if err := allow(set, path, fsRead); err != nil && !passing(err) {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return nil
}

func passing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EBADFD) || errors.Is(err, unix.EACCES)
}
