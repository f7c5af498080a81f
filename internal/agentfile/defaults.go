package agentfile

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed defaults/*.md
var defaults embed.FS

// marker notes that the defaults were written once, so that a deleted default
// stays deleted.
const marker = ".defaults-written"

// writeDefaults puts the embedded definitions into a folder that never had
// them. It never overwrites a file.
func writeDefaults(dir string) error {
	mark := filepath.Join(dir, marker)
	if _, err := os.Lstat(mark); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := defaults.ReadDir("defaults")
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := defaults.ReadFile("defaults/" + e.Name())
		if err != nil {
			return err
		}
		path := filepath.Join(dir, e.Name())
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := writeAtomic(path, text); err != nil {
			return err
		}
	}
	return writeAtomic(mark, []byte("The default agents were written once. While this file is here they are not written again.\n"))
}
