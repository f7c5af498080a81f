package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"

	"taskyard/internal/app"
	"taskyard/internal/archive"
	"taskyard/internal/testkit"
	"taskyard/task"
)

const ownAgent = "---\nname: own\ndescription: Made here.\ntools: read\n---\nWork on it.\n"

// wholeInstance returns a running server of an instance with everything that a
// backup must contain.
func wholeInstance(t *testing.T) *server {
	t.Helper()
	s := newServer(t, "serve")
	s.file("taskyard.toml", "[runs]\nattempts = 2\n")
	s.file("agents/own.md", ownAgent)
	s.file("notes/deep/extra.txt", "whatever lies there")
	s.file("runs/run-7-1/work/result.txt", "of a run")
	s.file("runs/tree-7/note.json", "{}")
	s.start()
	api := s.api(s.token("--scope", "operate"))
	call[task.Task](t, api, "POST", "/api/tasks", map[string]any{"title": "Mine", "owner": "own"})
	return s
}

// files returns the contents of the files below a folder by their path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, p))
		list[p] = string(b)
		return err
	})
	testkit.NoError(t, err)
	return list
}

func TestABackupContainsTheWholeInstance(t *testing.T) {
	t.Parallel()
	s := wholeInstance(t)
	dir := t.TempDir()
	without, with := filepath.Join(dir, "a.tar.zst"), filepath.Join(dir, "b.tar.zst")
	must(t, "", "backup", "--data", s.data, without)
	must(t, "", "backup", "--include-runs", "--data", s.data, with)
	s.kill()
	want := files(t, s.data)
	for _, file := range []string{without, with} {
		to := filepath.Join(t.TempDir(), "data")
		said := must(t, "", "restore", "--data", to, file)
		if strings.Contains(said, "kept in") {
			t.Errorf("reported as kept although nothing was there: %s", said)
		}
		got := files(t, to)
		for _, name := range []string{"taskyard.toml", "agents/own.md", "notes/deep/extra.txt", "yard-id"} {
			if got[name] != want[name] || got[name] == "" {
				t.Errorf("after a restore, %s contains %q, want %q", name, got[name], want[name])
			}
		}
		if has := got["runs/run-7-1/work/result.txt"] == "of a run"; has != (file == with) {
			t.Errorf("%s: the folder of a run exists: %v", file, has)
		}
		for name := range got {
			own := name == "taskyard.db" || name == "taskyard.db.lock"
			if strings.HasPrefix(name, "runs/tree-") || strings.HasPrefix(name, "taskyard.db") && !own {
				t.Errorf("%s: %s was restored", file, name)
			}
		}
		if said := must(t, "", "check", "--data", to); !strings.Contains(said, "0 invalid") {
			t.Errorf("got %s", said)
		}
		again := newServer(t, "serve")
		again.data = to
		again.start()
		agents := call[any](t, again.api(again.token("--scope", "read", "--name", "reader")), "GET", "/api/agents", nil)
		if !strings.Contains(fmt.Sprint(agents), "own") {
			t.Errorf("got the agents %v on the restored server", agents)
		}
		if !strings.Contains(again.log.String(), "the data folder is a copy") {
			t.Error("an instance restored elsewhere is not recognized as a copy")
		}
		again.kill()
	}
}

// TestABackupUnderLoadIsConsistent backs up while tasks are created as fast as
// possible: the backup contains every task that was acknowledged before it started,
// and no task without all earlier ones.
func TestABackupUnderLoadIsConsistent(t *testing.T) {
	t.Parallel()
	s := wholeInstance(t)
	api := s.api(s.token("--scope", "operate", "--name", "load"))
	stop, ended := make(chan struct{}), make(chan struct{})
	var made atomic.Int64
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if api.Do(t.Context(), "POST", "/api/tasks", map[string]any{"title": "Load", "owner": "own", "status": "draft"}, nil) == nil {
				made.Add(1)
			}
		}
	}()
	testkit.Eventually(t, "tasks are created", func() bool { return made.Load() > 20 })
	before := made.Load()
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	must(t, "", "backup", "--data", s.data, file)
	close(stop)
	<-ended
	to := filepath.Join(t.TempDir(), "data")
	must(t, "", "restore", "--data", to, file)
	must(t, "", "check", "--data", to)
	rows, err := readRows(app.DBPath(to), "SELECT count(*), max(id) FROM tasks")
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	n, last, _ := strings.Cut(rows[0], "|")
	if count, err := strconv.ParseInt(n, 10, 64); err != nil || n != last || count < before+1 {
		t.Errorf("the backup has %s tasks up to %s; %d were acknowledged before", n, last, before+1)
	}
}

func TestABackupListsItsContents(t *testing.T) {
	t.Parallel()
	s := wholeInstance(t)
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	must(t, "", "backup", "--data", s.data, file)
	s.kill()
	f, err := os.Open(file)
	testkit.NoError(t, err)
	defer f.Close()
	a, err := archive.NewReader(f)
	testkit.NoError(t, err)
	defer a.Close()
	m := a.Manifest
	if m.Schema < 1 || m.Instance == "" || m.LogEnd == "" || m.Version == "" || m.Runs || !m.Has("taskyard.db") || m.Created.IsZero() {
		t.Errorf("got the manifest %+v", m)
	}
	if err := a.Files(nil); err != nil {
		t.Error(err)
	}
	// Other programs can read it too.
	installed(t, "zstd", "apt-get install zstd")
	out, err := exec.CommandContext(t.Context(), "tar", "--zstd", "-xOf", file, "manifest.json").Output()
	testkit.NoError(t, err)
	var same archive.Manifest
	if err := json.Unmarshal(out, &same); err != nil || same.LogEnd != m.LogEnd {
		t.Errorf("tar lists %s, %v", out, err)
	}
}

// damage changes a byte of an archive, at i or at the next one that its content
// depends on: some bits of zstd have no meaning, 13 bytes of 17,500.
func damage(t *testing.T, b []byte, i int) (at int, bad []byte) {
	t.Helper()
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	testkit.NoError(t, err)
	defer z.Close()
	content, err := z.DecodeAll(b, nil)
	testkit.NoError(t, err)
	for ; i < len(b); i++ {
		bad = bytes.Clone(b)
		bad[i] ^= 0x55
		if c, err := z.DecodeAll(bad, nil); err != nil || !bytes.Equal(c, content) {
			return i, bad
		}
	}
	t.Fatal("no byte of the archive matters")
	return 0, nil
}

func TestTheDamagedPartOfABackupIsNamed(t *testing.T) {
	t.Parallel()
	s := wholeInstance(t)
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	must(t, "", "backup", "--data", s.data, file)
	s.kill()
	b := read(t, file)
	before := files(t, s.data)
	seen := map[string]bool{}
	for at := range 40 {
		i, bad := damage(t, []byte(b), len(b)*at/40)
		put(t, file+".bad", string(bad))
		_, errs, code := do(t, "", "restore", "--replace", "--data", s.data, file+".bad")
		if _, part, ok := strings.Cut(errs, "the backup is damaged in "); ok {
			part, _, _ = strings.Cut(part, ":")
			seen[part] = true
		} else if i > 3 { // up to there, it is not an archive at all
			t.Errorf("byte changed at %d of %d: exit code %d, %s", i, len(b), code, errs)
		}
		if code != exitRefused {
			t.Errorf("byte changed at %d: exit code %d", i, code)
		}
	}
	put(t, file+".bad", b[:len(b)/2])
	_, errs, code := do(t, "", "restore", "--replace", "--data", s.data, file+".bad")
	if code != exitRefused || !strings.Contains(errs, "cut off") {
		t.Errorf("truncated backup: exit code %d, %s", code, errs)
	}
	if after := files(t, s.data); len(after) != len(before) || after["taskyard.db"] != before["taskyard.db"] {
		t.Errorf("refused restores changed the folder: got %d files, want %d", len(after), len(before))
	}
	if !seen["taskyard.db"] || !seen["manifest.json"] {
		t.Errorf("got the damaged parts %v", seen)
	}
}

func TestARestoreReplacesNothingByDefault(t *testing.T) {
	t.Parallel()
	s := wholeInstance(t)
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	must(t, "", "backup", "--data", s.data, file)
	_, errs, code := do(t, "", "restore", "--replace", "--data", s.data, file)
	if code != exitRefused || !strings.Contains(errs, "another taskyard") {
		t.Errorf("over a running server: exit code %d, %s", code, errs)
	}
	s.kill()
	s.file("agents/later.md", strings.ReplaceAll(ownAgent, "own", "later"))
	s.file("other.txt", "written after the backup")
	id := files(t, s.data)["yard-id"]
	if _, errs, code := do(t, "", "restore", "--data", s.data, file); code != exitRefused || !strings.Contains(errs, "--replace") {
		t.Errorf("over an instance: exit code %d, %s", code, errs)
	}
	said := must(t, "", "restore", "--replace", "--data", s.data, file)
	_, kept, _ := strings.Cut(said, "is kept in ")
	kept, _, _ = strings.Cut(kept, "\n")
	now := files(t, s.data)
	if now["agents/later.md"] != "" || now["other.txt"] != "" {
		t.Errorf("a file written after the backup still exists: %s", said)
	}
	if now["yard-id"] != id || now["runs/run-7-1/work/result.txt"] == "" || now["runs/tree-7/note.json"] == "" {
		t.Error("files that belong to the location were changed")
	}
	old := files(t, kept)
	if old["agents/later.md"] == "" || old["other.txt"] == "" || old["taskyard.db"] == "" {
		t.Errorf("the former instance is incomplete: %d files in %s", len(old), kept)
	}
	// And back again, from the kept instance.
	back := filepath.Join(t.TempDir(), "back.tar.zst")
	must(t, "", "backup", "--data", kept, back)
	must(t, "", "restore", "--replace", "--data", s.data, back)
	if now := files(t, s.data); now["agents/later.md"] == "" {
		t.Error("the former instance was not restored")
	}
	must(t, "", "check", "--data", s.data)
}

func TestARestoreKeepsAnotherConfiguration(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	elsewhere := put(t, filepath.Join(t.TempDir(), "etc.toml"), "[runs]\nattempts = 5\n")
	s.args = []string{"serve", "--config", elsewhere}
	s.start()
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	must(t, "", "backup", "--config", elsewhere, "--data", s.data, file)
	s.kill()
	to := filepath.Join(t.TempDir(), "data")
	must(t, "", "restore", "--data", to, file)
	if got := files(t, to)["taskyard.toml"]; !strings.Contains(got, "attempts = 5") {
		t.Errorf("got the configuration %q from the backup", got)
	}
	put(t, elsewhere, "[runs]\nattempts = 6\n")
	to = filepath.Join(t.TempDir(), "data")
	said := must(t, "", "restore", "--config", elsewhere, "--data", to, file)
	got := files(t, to)
	const aside = "taskyard.toml.restored"
	if got["taskyard.toml"] != "" || !strings.Contains(got[aside], "attempts = 5") || !strings.Contains(said, aside) {
		t.Errorf("got %s", said)
	}
}

// plainCopy returns a backup as versions before the archives made it.
func plainCopy(t *testing.T, data string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "copy.db")
	d, err := sql.Open("sqlite3", "file:"+app.DBPath(data))
	testkit.NoError(t, err)
	defer d.Close()
	if _, err := d.ExecContext(t.Context(), "VACUUM INTO ?", file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCopiesOfADatabaseAreRestored(t *testing.T) {
	t.Parallel()
	s := wholeInstance(t)
	s.kill()
	file := plainCopy(t, s.data)
	said := must(t, "", "restore", "--replace", "--data", s.data, file)
	if !strings.Contains(said, "is only a database") || !strings.Contains(said, "taskyard.db.replaced") {
		t.Errorf("got %s", said)
	}
	must(t, "", "check", "--data", s.data)
	t.Run("the check finds that the agents are missing", func(t *testing.T) {
		to := filepath.Join(t.TempDir(), "data")
		must(t, "", "restore", "--data", to, file)
		if _, errs, code := do(t, "", "check", "--data", to); code != exitRefused || !strings.Contains(errs, "own (1 open)") {
			t.Errorf("exit code %d, %s", code, errs)
		}
	})
}

func TestFilesWithUnsafeNamesAreLeftOutOfABackup(t *testing.T) {
	t.Parallel()
	s := wholeInstance(t)
	s.kill()
	odd := []string{"manifest.json", "odd\nname"}
	for _, name := range odd {
		testkit.NoError(t, os.WriteFile(filepath.Join(s.data, name), []byte("mine"), 0o600))
	}
	file := filepath.Join(t.TempDir(), "a.tar.zst")
	must(t, "", "backup", "--data", s.data, file)
	must(t, "", "restore", "--replace", "--data", s.data, file)
	for _, name := range odd {
		if b, err := os.ReadFile(filepath.Join(s.data, name)); err != nil || string(b) != "mine" {
			t.Errorf("after the restore, %q contains %q, %v", name, b, err)
		}
	}
}

func TestABackupNeedsRoom(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	s.start()
	s.makeTasks(s.api(s.token("--scope", "operate")), 1)
	s.kill()
	small := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=96k", "none", small).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %s", out)
	}
	defer func() {
		if err := exec.Command("umount", small).Run(); err != nil {
			t.Error(err)
		}
	}()
	_, errs, code := do(t, "", "backup", "--data", s.data, filepath.Join(small, "b.tar.zst"))
	if code != exitRefused || !strings.Contains(errs, "is full") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if left := names(t, small); len(left) != 0 {
		t.Errorf("a failed backup left %v", left)
	}
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	must(t, "", "backup", "--data", s.data, file)
	_, errs, code = do(t, "", "restore", "--data", filepath.Join(small, "data"), file)
	if code != exitRefused || !strings.Contains(errs, "free") {
		t.Errorf("restore: exit code %d, %s", code, errs)
	}
}
