package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDataFolder(t *testing.T) {
	t.Parallel()
	folder := func(t *testing.T, files ...string) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "data")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o755)); err != nil { // whatever the umask
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	mode := func(t *testing.T, dir string) os.FileMode {
		t.Helper()
		fi, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		return fi.Mode().Perm()
	}
	t.Run("an empty folder and an instance become accessible only to their owner", func(t *testing.T) {
		for _, files := range [][]string{nil, {"taskyard.toml"}, {"notes.txt", "taskyard.db"}} {
			dir := folder(t, files...)
			if err := MakeData(dir); err != nil || mode(t, dir) != 0o700 {
				t.Errorf("with %v: %v, mode %o", files, err, mode(t, dir))
			}
		}
	})
	t.Run("a folder with other files is refused and left unchanged", func(t *testing.T) {
		dir := folder(t, "notes.txt")
		before := mode(t, dir)
		if err := MakeData(dir); err == nil || !strings.Contains(err.Error(), "--data") || mode(t, dir) != before {
			t.Errorf("%v, mode %o", err, mode(t, dir))
		}
	})
}
