package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"taskyard/internal/config"
)

// DemoMark is a file that distinguishes the data folder of a demo from a real
// one.
const DemoMark = "demo-yard"

const dbName = "taskyard.db"

// HasDatabase reports whether an instance already has its database; with
// PostgreSQL, it must exist.
func HasDatabase(c *config.Config) bool {
	_, err := os.Stat(DBPath(c.Data))
	return c.Database != "" || !errors.Is(err, fs.ErrNotExist)
}

// DBPath returns the path of the database of a data folder.
func DBPath(data string) string { return filepath.Join(data, dbName) }

// BackupDir returns the folder of scheduled backups.
func BackupDir(data string) string { return filepath.Join(data, "backups") }

// MakeData creates the data folder, readable only by its owner.
func MakeData(dir string) error {
	syscall.Umask(0o077)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if fi.Mode().Perm()&0o077 != 0 {
		if !isOwnFolder(dir) {
			return fmt.Errorf("data folder %s is open to others and contains more than "+
				"an instance: use a separate folder with --data", dir)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("data folder %s is open to others: %w", dir, err)
		}
	}
	return nil
}

// isOwnFolder reports whether a folder is empty or contains an instance. The
// permissions of any other folder, such as /tmp, must not be changed.
func isOwnFolder(dir string) bool {
	list, err := os.ReadDir(dir)
	for _, f := range list {
		switch f.Name() {
		case filepath.Base(DBPath(dir)), "taskyard.toml", "agents", DemoMark:
			return true
		}
	}
	return err == nil && len(list) == 0
}
