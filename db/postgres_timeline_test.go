package db_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/db"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// A former primary whose standby was promoted accepts writes when it comes back, and
// it is the first host in the address. Anything written there would be lost.
func TestAFormerPrimaryIsNotUsed(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	primary, standby, err := testkit.StartReplicatedPostgres(true)
	ok(t, err)
	var log testkit.Buffer
	folder := t.TempDir()
	open := func() *db.DB {
		t.Helper()
		d, err := db.Open(t.Context(), db.Options{
			URL: primary.URL, Path: filepath.Join(folder, "taskyard.db"), Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		ok(t, err)
		return d
	}
	add := func(d *db.DB, name string) {
		t.Helper()
		ok(t, d.Write(t.Context(), func(tx *db.Tx) error {
			_, err := tx.InsertUser(name, task.RoleViewer, "")
			return err
		}))
	}
	names := func(d *db.DB) (list []string) {
		t.Helper()
		ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
			users, err := rx.Users()
			for _, u := range users {
				list = append(list, u.Name)
			}
			return err
		}))
		return list
	}

	d := open()
	add(d, "before")
	ok(t, primary.End())
	ok(t, standby.Promote())
	add(d, "after")
	ok(t, primary.Return())
	ok(t, standby.Crash()) // breaks all connections
	add(d, "later")
	equal(t, "names in the running server", strings.Join(names(d), " "), "after before later")
	ok(t, d.Close())

	d = open()
	equal(t, "names after the next start", strings.Join(names(d), " "), "after before later")
	ok(t, d.Close())
	if !strings.Contains(log.String(), "a former primary of the database takes connections") {
		t.Errorf("the log does not name the former primary:\n%s", log.String())
	}

	// Without the file, as after restoring a copy, that host is used.
	ok(t, os.Remove(filepath.Join(folder, "postgres-timeline")))
	d = open()
	defer d.Close()
	equal(t, "names in the former primary", strings.Join(names(d), " "), "before")
}
