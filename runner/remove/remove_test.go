package remove_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/remove"
)

func ok(t *testing.T, err error) {
	t.Helper()
	testkit.NoError(t, err)
}

func open(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	ok(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// write creates a file with its parent folders.
func write(t *testing.T, name string, mode fs.FileMode) {
	t.Helper()
	ok(t, os.MkdirAll(filepath.Dir(name), 0o755))
	ok(t, os.WriteFile(name, []byte("x"), 0o600))
	ok(t, os.Chmod(name, mode))
}

// names lists the content of a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	ok(t, err)
	var all []string
	for _, e := range list {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// deep creates nested folders.
func deep(t *testing.T, dir string, levels int) {
	t.Helper()
	at, err := os.OpenRoot(dir)
	ok(t, err)
	for range levels {
		ok(t, at.Mkdir("deeper", 0o700))
		next, err := at.OpenRoot("deeper")
		ok(t, err)
		_ = at.Close()
		at = next
	}
	ok(t, at.WriteFile("bottom", nil, 0o600))
	_ = at.Close()
}

func TestNamedFoldersAreRemoved(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(t *testing.T, dir string){
		"an empty folder":    func(*testing.T, string) {},
		"folders 2,000 deep": func(t *testing.T, dir string) { deep(t, dir, 2000) },
		"two deep trees": func(t *testing.T, dir string) {
			ok(t, os.Mkdir(dir+"/a", 0o700))
			deep(t, dir, 300)
			deep(t, dir+"/a", 300)
		},
		"many folders of files": func(t *testing.T, dir string) { many(t, dir) },
		"files that nobody may read": func(t *testing.T, dir string) {
			write(t, dir+"/a/secret", 0)
			write(t, dir+"/pkg/mod/read-only", 0o400)
		},
		"folders that nobody may change, read or enter": func(t *testing.T, dir string) {
			for i, mode := range []fs.FileMode{0o500, 0o400, 0o300, 0o200, 0o100, 0} {
				within := fmt.Sprintf("%s/d%d", dir, i)
				write(t, within+"/e/f", 0o400)
				ok(t, os.Chmod(within+"/e", mode))
				ok(t, os.Chmod(within, mode))
			}
		},
		"names of every kind": func(t *testing.T, dir string) {
			for _, n := range []string{"-rf", "a\nb", "\xff\xfe", " ", "...", "*", strings.Repeat("n", 255)} {
				write(t, dir+"/"+n+"/"+n, 0o600)
			}
		},
		"pipes": func(t *testing.T, dir string) { pipe(t, dir+"/pipe") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := nobody(t)
			ok(t, os.Mkdir(dir+"/run", 0o700))
			fill(t, dir+"/run")
			write(t, dir+"/other/file", 0o600)
			ok(t, remove.All(t.Context(), open(t, dir), "run", "not there"))
			same(t, "left behind", names(t, dir), "other")
			same(t, "and in it", names(t, dir+"/other"), "file")
		})
	}
}

func many(t *testing.T, dir string) {
	t.Helper()
	for i := range 600 {
		write(t, fmt.Sprintf("%s/a/%d/file", dir, i), 0o600)
		write(t, fmt.Sprintf("%s/b/%d", dir, i), 0o600)
	}
}

func TestNoLinkIsFollowed(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, outside+"/precious/file", 0o600)
	ok(t, os.Chmod(outside+"/precious", 0o500))
	t.Cleanup(func() { _ = os.Chmod(outside+"/precious", 0o700) })
	kept := func(t *testing.T) {
		t.Helper()
		same(t, "outside", names(t, outside+"/precious"), "file")
		if info, err := os.Stat(outside + "/precious"); err != nil || info.Mode().Perm() != 0o500 {
			t.Errorf("the mode of the target was changed: %v, %v", info.Mode(), err)
		}
	}
	t.Run("not a link within the folder", func(t *testing.T) {
		dir := t.TempDir()
		ok(t, os.MkdirAll(dir+"/run/sub", 0o700))
		for i, to := range []string{
			outside, outside + "/precious", outside + "/precious/file",
			"..", "../..", ".", "/", "nowhere", "../../other",
		} {
			ok(t, os.Symlink(to, fmt.Sprintf("%s/run/sub/link%d", dir, i)))
		}
		write(t, dir+"/other/file", 0o600)
		ok(t, os.Link(outside+"/precious/file", dir+"/run/hard"))
		ok(t, remove.All(t.Context(), open(t, dir), "run"))
		same(t, "left behind", names(t, dir)+" "+names(t, dir+"/other"), "other file")
		kept(t)
	})
	t.Run("a named link is removed, not its target", func(t *testing.T) {
		dir := t.TempDir()
		ok(t, os.Symlink(outside+"/precious", dir+"/run"))
		ok(t, remove.All(t.Context(), open(t, dir), "run"))
		same(t, "left behind", names(t, dir), "")
		kept(t)
	})
	for _, to := range []string{outside, "other", "."} {
		t.Run("not a link in the place where things are removed, to "+filepath.Base(to), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir+"/run/file", 0o600)
			write(t, dir+"/other/file", 0o600)
			ok(t, os.Symlink(to, dir+"/.removing"))
			if err := remove.All(t.Context(), open(t, dir), "run"); err == nil {
				t.Error("got no error")
			}
			same(t, "left behind", names(t, dir)+" "+names(t, dir+"/other"), ".removing other run file")
			kept(t)
		})
	}
	t.Run("names do not lead out of the folder", func(t *testing.T) {
		dir := t.TempDir()
		ok(t, os.Mkdir(dir+"/runs", 0o700))
		write(t, dir+"/file", 0o600)
		if err := remove.All(t.Context(), open(t, dir+"/runs"), "../file"); err == nil {
			t.Error("got no error")
		}
		same(t, "left behind", names(t, dir), "file runs")
	})
}

func TestAnInterruptedRemovalContinues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	many(t, dir+"/run")
	cause := errors.New("the server stops")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(cause)
	root := open(t, dir)
	if err := remove.All(ctx, root, "run"); !errors.Is(err, cause) {
		t.Fatalf("got error %v", err)
	}
	same(t, "left behind", names(t, dir), ".removing")
	ok(t, remove.All(t.Context(), root))
	same(t, "left behind", names(t, dir), "")
	ok(t, remove.All(t.Context(), root))
}
