package app

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	// look identifies a folder and returns what is logged.
	look := func(t *testing.T, dir string) (*identity, string) {
		t.Helper()
		log := &strings.Builder{}
		i, err := identify(dir, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		return i, log.String()
	}
	settled := func(t *testing.T, dir string) *identity {
		t.Helper()
		i, _ := look(t, dir)
		if err := i.save(); err != nil {
			t.Fatal(err)
		}
		return i
	}
	const copyMessage = "the data folder is a copy, or was moved"
	original := func(t *testing.T, i *identity, log, id string) {
		t.Helper()
		if i.Copied || i.ID != id || log != "" {
			t.Errorf("copied: %v, id %q, was %q, log %q", i.Copied, i.ID, id, log)
		}
	}
	// copied returns a copy of a folder that was in use.
	copied := func(t *testing.T) (dir, id string) {
		t.Helper()
		from, dir := t.TempDir(), filepath.Join(t.TempDir(), "data")
		id = settled(t, from).ID
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		return dir, id
	}
	t.Run("a folder that was not moved keeps its ID", func(t *testing.T) {
		dir := t.TempDir()
		id := settled(t, dir).ID
		i, log := look(t, dir)
		original(t, i, log, id)
	})
	t.Run("a folder that was renamed keeps its ID", func(t *testing.T) {
		dir, to := t.TempDir(), filepath.Join(t.TempDir(), "data")
		id := settled(t, dir).ID
		if err := os.Rename(dir, to); err != nil {
			t.Fatal(err)
		}
		i, log := look(t, to)
		original(t, i, log, id)
	})
	t.Run("a folder of a version that did not record its location keeps its ID, and records it", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "yard-id"), []byte("OLD\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		i, log := look(t, dir)
		original(t, i, log, "OLD")
		settled(t, dir)
		to := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if i, _ := look(t, to); !i.Copied {
			t.Error("a copy of it is not recognized")
		}
	})
	t.Run("an original that cannot record its location is served", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "yard-id"), []byte("OLD\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		i, _ := look(t, dir)
		if err := os.Mkdir(i.placeFile, 0o700); err != nil { // nobody can write it
			t.Fatal(err)
		}
		if err := i.save(); err != nil {
			t.Error(err)
		}
	})
	t.Run("a copy gets its own ID, keeps it, and logs that once", func(t *testing.T) {
		dir, id := copied(t)
		first, log := look(t, dir)
		if !first.Copied || first.ID == id || strings.Count(log, copyMessage) != 1 {
			t.Errorf("copied: %v, id %q of %q, log %q", first.Copied, first.ID, id, log)
		}
		if err := first.save(); err != nil {
			t.Fatal(err)
		}
		i, log := look(t, dir)
		original(t, i, log, first.ID)
	})
	t.Run("a copy that was killed before its runs were marked lost is treated as a copy again", func(t *testing.T) {
		dir, id := copied(t)
		for range 2 {
			if i, log := look(t, dir); !i.Copied || i.ID == id || !strings.Contains(log, copyMessage) {
				t.Errorf("copied: %v, id %q of %q, log %q", i.Copied, i.ID, id, log)
			}
		}
	})
	t.Run("a copy that cannot store its ID is not served", func(t *testing.T) {
		dir, _ := copied(t)
		i, _ := look(t, dir)
		if err := errors.Join(os.Remove(i.idFile), os.Mkdir(i.idFile, 0o700)); err != nil {
			t.Fatal(err)
		}
		if err := i.save(); err == nil {
			t.Error("it was served without storing its ID")
		}
	})
	t.Run("a database without the rest of its folder may be a copy", func(t *testing.T) {
		if i, log := look(t, t.TempDir()); !i.Copied || log != "" {
			t.Errorf("copied: %v, log %q", i.Copied, log)
		}
	})
}
