//go:build linux

package tools

import (
	"crypto/sha256"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"taskyard/internal/testkit"
	"taskyard/runner/instance"
)

func TestNoToolChangesTheDataOfGit(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	config := "[core]\n\tbare = false\n"
	file(t, b, ".git/config", config)
	file(t, b, "sub/.GIT/config", config)
	testkit.NoError(t, os.Symlink(".git", filepath.Join(b.opts.Root, "link")))
	const want = "is part of Git's own data"
	for _, name := range []string{
		".git/commondir", ".git/new/folder/x", ".Git/x", "link/commondir", "link/new/x", "sub/.git", "sub/.GIT/x", "other/.git/config",
		filepath.Join(b.opts.Root, ".git/commondir"),
	} {
		refused(t, b, "create", args{"path": name, "content": "../evil\n"}, want)
	}
	for _, name := range []string{".git/config", "link/config", "sub/.GIT/config"} {
		ok(t, b, "read", args{"path": name})
		refused(t, b, "edit", args{"path": name, "old_text": "false", "new_text": "true"}, want)
	}
	for _, name := range []string{".gitignore", ".github/x.yml", "a.git/x", "sub/.gitattributes"} {
		ok(t, b, "create", args{"path": name, "content": "x\n"})
	}
	entries, err := os.ReadDir(filepath.Join(b.opts.Root, ".git"))
	testkit.NoError(t, err)
	if text, err := os.ReadFile(filepath.Join(b.opts.Root, ".git/config")); len(entries) != 1 || err != nil || string(text) != config {
		t.Errorf("got %d entries, config %q, %v", len(entries), text, err)
	}
}

func TestNoToolLeavesTheWorkspace(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	outside := secret(t)
	file(t, b, "sub/in.txt", "inside\n")
	root := b.opts.Root
	for link, target := range map[string]string{
		"out": outside, "outdir": filepath.Dir(outside), "up": "../../..", "sub/loop": "loop",
		"proc": "/proc/self", "dots": "sub/../../" + filepath.Base(root) + "/../x",
	} {
		testkit.NoError(t, os.Symlink(target, filepath.Join(root, link)))
	}
	testkit.NoError(t, unix.Mkfifo(filepath.Join(root, "fifo"), 0o666))
	testkit.NoError(t, os.Link(outside, filepath.Join(root, "hard")))
	l, err := net.Listen("unix", filepath.Join(root, "socket"))
	testkit.NoError(t, err)
	defer func() { _ = l.Close() }()
	testkit.NoError(t, os.Symlink("sub/in.txt", filepath.Join(root, "good")))

	for _, tt := range []struct{ name, path, want string }{
		{"an absolute path outside", outside, "outside the workspace"},
		{"the root of the machine", "/", "outside the workspace"},
		{"a folder above", "../x", "outside the workspace"},
		{"a folder above, further on", "sub/../../x", "outside the workspace"},
		{"a sibling with the same prefix", root + "x/secret", "outside the workspace"},
		{"a file of processes", "/proc/self/environ", "outside the workspace"},
		{"a link to a file outside", "out", "leads out of the workspace"},
		{"a link to a folder outside", "outdir/secret", "leads out of the workspace"},
		{"a link to a folder above", "up/etc/passwd", "leads out of the workspace"},
		{"a link that leaves and returns", "dots", "leads out of the workspace"},
		{"a link to files of processes", "proc/environ", "leads out of the workspace"},
		{"a link to itself", "sub/loop", "sub/loop"},
		{"a pipe", "fifo", "is a pipe"},
		{"a socket", "socket", "is a socket"},
		{"a hard link", "hard", "has 2 names (hard links)"},
		{"a path with a NUL", "a\x00b", "holds NUL"},
		{"a very long path", strings.Repeat("a/", 2100) + "x", "path: maxLength"},
		{"a very long name", strings.Repeat("a", 300), "file name too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refused(t, b, "read", args{"path": tt.path}, tt.want)
			for _, tool := range []string{"list", "glob", "grep", "create", "edit"} {
				r := call(t, b, tool, args{"path": tt.path, "pattern": "x", "content": "x", "old_text": "top", "new_text": "x"}.only(tool))
				if !r.IsError {
					t.Errorf("%s was not refused: %s", tool, r.Text)
				}
			}
		})
	}
	if content(t, outside) != "top secret" {
		t.Error("the file outside was changed")
	}
	t.Run("a search finds nothing outside", func(t *testing.T) {
		has(t, ok(t, b, "grep", args{"pattern": "secret|root:"}), "nothing matches")
	})
	t.Run("an absolute path inside is accepted", func(t *testing.T) {
		has(t, ok(t, b, "read", args{"path": filepath.Join(root, "sub/in.txt")}), "inside")
	})
	t.Run("a link that stays inside is followed", func(t *testing.T) {
		has(t, ok(t, b, "read", args{"path": "good"}), "inside")
	})
	t.Run("messages do not contain paths of the machine", func(t *testing.T) {
		if r := call(t, b, "read", args{"path": "missing"}); strings.Contains(r.Text, root) {
			t.Error(r.Text)
		}
	})
}

// only returns the arguments that a tool accepts.
func (a args) only(tool string) args {
	known := map[string]string{
		"list": "path", "glob": "path pattern", "grep": "path pattern",
		"create": "path content", "edit": "path old_text new_text",
	}
	out := args{}
	for name, v := range a {
		if strings.Contains(" "+known[tool]+" ", " "+name+" ") {
			out[name] = v
		}
	}
	return out
}

func TestAnotherFileSystemIsRefused(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	mount := filepath.Join(b.opts.Root, "mnt")
	testkit.NoError(t, os.Mkdir(mount, 0o777))
	if err := unix.Mount("none", mount, "tmpfs", 0, ""); err != nil {
		t.Skip("this account may not mount:", err)
	}
	defer func() { testkit.NoError(t, unix.Unmount(mount, unix.MNT_DETACH)) }()
	file(t, b, "mnt/f", "needle")
	refused(t, b, "read", args{"path": "mnt/f"}, "different file system")
	refused(t, b, "list", args{"path": "mnt"}, "different file system")
	refused(t, b, "create", args{"path": "mnt/new/f", "content": "x"}, "different file system")
	has(t, ok(t, b, "grep", args{"pattern": "needle"}), "nothing matches")
	has(t, ok(t, b, "glob", args{"pattern": "**"}), "no file matches")
	if _, err := os.Stat(filepath.Join(mount, "new")); err == nil {
		t.Error("a folder was created there")
	}
}

func TestALinkSwappedInARaceIsNotFollowed(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	outside := secret(t)
	file(t, b, "d/secret", "harmless")
	root := b.opts.Root
	testkit.NoError(t, os.Rename(filepath.Join(root, "d"), filepath.Join(root, "real")))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var calls atomic.Int64
	// linger gives the other side time, now and then, in each state: on a busy
	// machine, it might otherwise never meet one of them.
	linger := func() {
		if rand.IntN(3) > 0 {
			return
		}
		for from := calls.Load(); calls.Load() == from; runtime.Gosched() {
			select {
			case <-stop:
				return
			default:
			}
		}
	}
	wg.Go(func() {
		dir, away := filepath.Join(root, "d"), filepath.Join(root, "real")
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(away, dir)
			linger()
			_ = os.Rename(dir, away)
			linger()
			_ = os.Symlink(filepath.Dir(outside), dir)
			linger()
			_ = os.RemoveAll(dir) // what create may have created
		}
	})
	seen := 0
	for i := 0; i < 1500 || seen < 20 && i < 30_000; i++ {
		runtime.Gosched()
		r := call(t, b, "read", args{"path": "d/secret"})
		if strings.Contains(r.Text, "top secret") {
			t.Fatal("the file outside was read")
		}
		if !r.IsError {
			seen++
			call(t, b, "edit", args{"path": "d/secret", "old_text": "harmless", "new_text": "harmless"})
			call(t, b, "edit", args{"path": "d/secret", "old_text": "less", "new_text": "less "})
		}
		call(t, b, "create", args{"path": "d/planted", "content": "x"})
		calls.Add(1)
	}
	close(stop)
	wg.Wait()
	if _, err := os.Lstat(filepath.Join(filepath.Dir(outside), "planted")); err == nil {
		t.Error("a file was created outside")
	}
	if content(t, outside) != "top secret" {
		t.Error("the file outside was changed")
	}
	if seen == 0 {
		t.Error("the file inside was never read: the race proves nothing")
	}
}

// FuzzPath passes any path to the tools of a workspace that is full of traps.
func FuzzPath(f *testing.F) {
	for _, s := range []string{
		"a.txt", "../x", "/etc/passwd", "out", "outdir/secret", "a/../../x", "\x00",
		"a//./b/", ".", "", "hard", "link/../..", strings.Repeat("../", 50) + "etc/passwd",
	} {
		f.Add(s)
	}
	b := newBox(f)
	outside := secret(f)
	file(f, b, "a.txt", "inside\n")
	testkit.NoError(f, os.Mkdir(filepath.Join(b.opts.Root, "link"), 0o777))
	testkit.NoError(f, os.Symlink(outside, filepath.Join(b.opts.Root, "out")))
	testkit.NoError(f, os.Symlink(filepath.Dir(outside), filepath.Join(b.opts.Root, "outdir")))
	testkit.NoError(f, os.Link(outside, filepath.Join(b.opts.Root, "hard")))
	f.Fuzz(func(t *testing.T, path string) {
		if name, err := b.place(path); err == nil && !filepath.IsLocal(name) {
			t.Errorf("%q became %q", path, name)
		}
		for _, tool := range []string{"read", "list", "glob", "grep"} {
			a := args{"path": path}
			if tool == "glob" || tool == "grep" {
				a["pattern"] = "[st]*"
			}
			if text := call(t, b, tool, a).Text; strings.Contains(text, "top secret") || strings.Contains(text, "root:") {
				t.Errorf("%s of %q returned %q", tool, path, text)
			}
		}
		r := call(t, b, "create", args{"path": path, "content": "new"})
		for _, made := range r.Files {
			testkit.NoError(t, os.Remove(filepath.Join(b.opts.Root, made))) // fails if it is elsewhere
		}
		entries, err := os.ReadDir(filepath.Dir(outside))
		if err != nil || len(entries) != 1 || content(t, outside) != "top secret" {
			t.Errorf("%q changed files outside: %v %v", path, entries, err)
		}
	})
}

func TestFilesOfTheInstanceAreNotOpened(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	database := file(t, b, "data/taskyard.db", "needle")
	file(t, b, "data/agents/coder.md", "needle")
	release, err := instance.Protect(database)
	testkit.NoError(t, err)
	defer release()
	const want = "it is never opened for an agent"
	refused(t, b, "read", args{"path": "data/taskyard.db"}, want)
	refused(t, b, "list", args{"path": "data"}, want)
	refused(t, b, "grep", args{"pattern": "needle", "path": "data/taskyard.db"}, want)
	refused(t, b, "grep", args{"pattern": "needle", "path": "data"}, want)
	b.remember("data/taskyard.db", sha256.Sum256([]byte("needle")))
	refused(t, b, "edit", args{"path": "data/taskyard.db", "old_text": "needle", "new_text": "x"}, want)
	refused(t, b, "create", args{"path": "data/new", "content": "x"}, want)
	has(t, ok(t, b, "grep", args{"pattern": "needle"}), "nothing matches")
	has(t, ok(t, b, "glob", args{"pattern": "**"}), "no file matches")
	if got := content(t, database); got != "needle" {
		t.Errorf("the database contains %q", got)
	}
}
