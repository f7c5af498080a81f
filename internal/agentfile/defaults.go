package agentfile

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed defaults/*.md
var defaults embed.FS

// marker records that the defaults were written once, so that a deleted default
// stays deleted.
const marker = ".defaults-written"

// writeDefaults writes the embedded definitions to a folder that never had
// them. It never overwrites a file.
func writeDefaults(dir string) error {
	mark := filepath.Join(dir, marker)
	if _, err := os.Lstat(mark); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := Restore(dir, nil); err != nil {
		return err
	}
	return writeAtomic(mark, []byte("The default agents were written once. While this file is here they are not written again.\n"))
}

// Restore writes the named default agents, or all of them without names, to a
// folder, and returns those that were missing. It never overwrites a file.
// Errors: not a default agent; the folder cannot be written.
func Restore(dir string, names []string) (written []string, err error) {
	if len(names) == 0 {
		names = defaultNames()
	}
	for _, name := range names {
		text, err := defaults.ReadFile("defaults/" + name + ext)
		if err != nil {
			return written, fmt.Errorf("%q is not a default agent: those are %s", name, strings.Join(defaultNames(), ", "))
		}
		path := filepath.Join(dir, name+ext)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := writeAtomic(path, text); err != nil {
			return written, err
		}
		written = append(written, name)
	}
	return written, nil
}

func defaultNames() (names []string) {
	entries, err := defaults.ReadDir("defaults")
	if err != nil {
		return nil // embedded: never fails
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ext))
	}
	return names
}
