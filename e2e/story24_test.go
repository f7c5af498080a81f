package e2e

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskyard/db"
	"taskyard/internal/app"
	"taskyard/internal/archive"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// Story 24: an instance of each earlier version is upgraded with its data, and the
// copy that the upgrade made restores it.

const upgrades = "internal/testdata/upgrades"

// contents returns the data of an instance that no upgrade may change.
func contents(t *testing.T, data string) []string {
	t.Helper()
	var all []string
	for _, q := range []string{
		"SELECT id, task_id, agent, summary FROM runs WHERE status = 'completed' ORDER BY id",
		"SELECT id, title, owner, status, priority, created_at, coalesce(archived_at, 0), coalesce(summary, '') FROM tasks ORDER BY id",
		"SELECT task_id, position, title, done FROM steps ORDER BY task_id, position",
		"SELECT id, hex(hash) FROM events ORDER BY id",
		"SELECT name, role FROM users ORDER BY id",
		"SELECT key, name, repository, checks, review, merge FROM projects ORDER BY key",
		"SELECT id, task_id, number, summary, head, digest FROM results ORDER BY id",
	} {
		rows, err := readRows(app.DBPath(data), q)
		if err != nil && strings.Contains(err.Error(), "no such table") {
			continue // this version did not have it yet
		}
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		all = append(all, rows...)
	}
	return all
}

func schemaVersion(t *testing.T, file string) string {
	t.Helper()
	rows, err := readRows(file, "SELECT max(version_id) FROM goose_db_version WHERE is_applied")
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	return rows[0]
}

func TestStory24Upgrades(t *testing.T) {
	t.Parallel()
	list, err := filepath.Glob(filepath.Join(upgrades, "*.tar.zst"))
	if err != nil || len(list) < 4 {
		t.Fatalf("got instances of earlier versions %v, %v", list, err)
	}
	for _, file := range list {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "serve")
			s.data = filepath.Join(t.TempDir(), "data")
			must(t, "", "restore", "--data", s.data, file)
			was, schema := contents(t, s.data), schemaVersion(t, app.DBPath(s.data))
			if len(was) < 8 {
				t.Fatalf("the instance contains only %v", was)
			}
			s.start()
			if got := contents(t, s.data); !containsAll(got, was) {
				t.Errorf("after the upgrade, got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(was, "\n"))
			}
			api := s.api(s.token("--scope", "operate", "--name", "after"))
			made := call[task.Task](t, api, "POST", "/api/tasks", map[string]any{"title": "After the upgrade", "owner": "general-purpose"})
			now := schemaVersion(t, app.DBPath(s.data))
			s.kill()
			if said := must(t, "", "check", "--data", s.data); !strings.Contains(said, "hash chain unbroken") {
				t.Errorf("got %s", said)
			}
			before := app.DBPath(s.data) + ".before-" + schema
			if _, err := os.Stat(before); (err == nil) != (schema != now) {
				t.Fatalf("got schema %[2]s after %[1]s; the copy from before: %[3]v", schema, now, err)
			}
			if schema == now {
				return
			}
			t.Run("and is restored from that copy", func(t *testing.T) {
				must(t, "", "restore", "--replace", "--data", s.data, before)
				if got := schemaVersion(t, app.DBPath(s.data)); got != schema {
					t.Errorf("the copy has schema %s, want %s", got, schema)
				}
				if got := contents(t, s.data); !slices.Equal(got, was) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(was, "\n"))
				}
				s.start() // and upgrades once more
				if rows := s.rows("SELECT count(*) FROM tasks WHERE title = ?", made.Title); rows[0] != "0" {
					t.Error("a task created after the upgrade still exists")
				}
			})
		})
	}
}

// containsAll reports whether all rows are among others: a server adds its own rows.
func containsAll(rows, all []string) bool {
	for _, r := range all {
		if !slices.Contains(rows, r) {
			return false
		}
	}
	return true
}

// execute changes a database that no server has open.
func execute(t *testing.T, path, query string) {
	t.Helper()
	d, err := sql.Open("sqlite3", "file:"+path)
	testkit.NoError(t, err)
	defer d.Close()
	if _, err := d.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

// TestACommandLeavesTheDatabaseOfARunningServerOfAnEarlierVersion: a server
// whose program was replaced keeps running until its restart.
func TestACommandLeavesTheDatabaseOfARunningServerOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	must(t, "", "restore", "--data", data, filepath.Join(upgrades, "schema-26.tar.zst"))
	lock, err := db.AcquireLock(app.DBPath(data)) // as the server of that version
	testkit.NoError(t, err)
	for _, args := range [][]string{{"token", "list"}, {"check"}, {"export", filepath.Join(t.TempDir(), "out")}} {
		_, errs, code := do(t, "", append(args, "--data", data)...)
		if code != exitRefused || !strings.Contains(errs, "from schema 26 to ") || !strings.Contains(errs, "restart the server") {
			t.Errorf("%s: exit code %d, %s", args, code, errs)
		}
	}
	if got := schemaVersion(t, app.DBPath(data)); got != "26" {
		t.Errorf("the database has schema %s", got)
	}
	testkit.NoError(t, lock.Release())
	_, errs, code := do(t, "", "token", "list", "--data", data)
	if code != 0 || !strings.Contains(errs, "migrating the database") {
		t.Errorf("without a server: exit code %d, %s", code, errs)
	}
	must(t, "", "token", "list", "--data", data)
}

func TestADowngradeIsRefusedAndNamesTheCopy(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	s.start()
	s.makeTasks(s.api(s.token("--scope", "operate")), 1)
	s.kill()
	copied := app.DBPath(s.data) + ".before-" + schemaVersion(t, app.DBPath(s.data))
	b := read(t, plainCopy(t, s.data))
	put(t, copied, b) // as the newer program would
	execute(t, app.DBPath(s.data), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9000, 1)")
	_, errs, code := s.command("", "serve", "--listen", "127.0.0.1:0")
	if code != exitRefused || !strings.Contains(errs, "has schema 9000") || !strings.Contains(errs, "taskyard restore --replace "+copied) {
		t.Fatalf("got exit code %d, %s", code, errs)
	}
	if got := schemaVersion(t, app.DBPath(s.data)); got != "9000" {
		t.Errorf("a refused start changed the schema to %s", got)
	}
	must(t, "", "restore", "--replace", "--data", s.data, copied)
	must(t, "", "check", "--data", s.data)
	s.start()
}

func TestABackupOfANewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	s.start()
	s.kill()
	execute(t, app.DBPath(s.data), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9000, 1)")
	file := filepath.Join(t.TempDir(), "newer.tar.zst")
	must(t, "", "backup", "--data", s.data, file)
	to := filepath.Join(t.TempDir(), "data")
	if _, errs, code := do(t, "", "restore", "--data", to, file); code != exitRefused || !strings.Contains(errs, "use a newer taskyard") {
		t.Errorf("got exit code %d, %s", code, errs)
	}
	for name := range files(t, to) {
		if name != "taskyard.db.lock" {
			t.Errorf("a refused restore left %s", name)
		}
	}
}

// TestInstancesOfEarlierVersionsAreIntact checks the files that the upgrades start from.
func TestInstancesOfEarlierVersionsAreIntact(t *testing.T) {
	t.Parallel()
	list, err := filepath.Glob(filepath.Join(upgrades, "*.tar.zst"))
	testkit.NoError(t, err)
	for _, file := range list {
		f, err := os.Open(file)
		testkit.NoError(t, err)
		defer f.Close()
		a, err := archive.NewReader(f)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		defer a.Close()
		if err := a.Files(nil); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if want := fmt.Sprintf("schema-%02d.tar.zst", a.Manifest.Schema); filepath.Base(file) != want {
			t.Errorf("%s has schema %d", file, a.Manifest.Schema)
		}
		if fi, err := f.Stat(); err != nil || fi.Size() > 64<<10 {
			t.Errorf("%s is large: %d bytes", file, fi.Size())
		}
	}
}
