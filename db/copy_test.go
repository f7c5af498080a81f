package db_test

import (
	"database/sql"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// onSQLite opens a SQLite database, whichever store the tests use.
func onSQLite(o *db.Options) { o.URL = "" }

// copyTargets returns an empty database of each store available to the tests.
func copyTargets(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{"SQLite": filepath.Join(t.TempDir(), "copy.db")}
	if dbtest.Postgres() {
		list["PostgreSQL"] = dbtest.PostgresURL(t, t.TempDir())
	}
	return list
}

// dump returns all rows that a copy includes, by table, in a fixed order.
func dump(t *testing.T, path string) map[string]string {
	t.Helper()
	c := raw(t, path)
	tables := texts(t, c, "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "+
		"AND name NOT IN ('sqlite_schema', 'goose_db_version', 'agent_files', 'open_texts', 'open_times')")
	list := map[string]string{}
	for _, table := range tables {
		columns := strings.Join(texts(t, c, "SELECT 'quote(\"' || name || '\")' FROM pragma_table_info('"+table+"')"), " || ',' || ")
		q := "SELECT " + columns + " FROM " + table
		switch table {
		case "settings":
			q += " WHERE key NOT IN ('search_event', 'open_texts_event')"
		case "sqlite_sequence":
			q += " WHERE name <> 'goose_db_version' ORDER BY name"
		}
		list[table] = strings.Join(texts(t, c, q), "\n")
	}
	list["triggers"] = strings.Join(texts(t, c, "SELECT sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid"), "\n")
	return list
}

func texts(t *testing.T, c *sql.DB, q string) (list []string) {
	t.Helper()
	rows, err := c.QueryContext(t.Context(), q)
	ok(t, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		ok(t, rows.Scan(&s))
		list = append(list, s)
	}
	ok(t, rows.Err())
	return list
}

// fullSource returns a database with rows in every table that is copied, and
// with texts that a copy has to escape.
func fullSource(t *testing.T) *db.DB {
	t.Helper()
	d := tourDatabase(t, onSQLite)
	const awkward = "'a\tb\\c\r\nd\\N\\.''\"ü\u2028'"
	for _, q := range []string{
		"UPDATE tasks SET labels = 'api web' WHERE id = (SELECT max(id) FROM tasks WHERE archived_at IS NULL)",
		"INSERT INTO messages (task_id, kind, author, content, created_at) " +
			"SELECT id, 'comment', 'user:maya', " + awkward + ", 1 FROM tasks WHERE archived_at IS NULL",
		"INSERT INTO outbox (target, kind, task_id, text, created_at, not_before) " +
			"SELECT 'ops', 'notice', min(id), " + awkward + ", 1, 2 FROM tasks",
		"INSERT INTO pauses (agent, actor, reason, since) VALUES ('coder', 'user:maya', '', 1)",
		"INSERT INTO preferences (user_id, name, value) SELECT min(id), 'theme', 'dark' FROM users",
		"INSERT INTO saved_views (user_id, name, path, created_at) SELECT id, 'Mine', '/tasks', 1 FROM users",
		"INSERT INTO sessions (hash, data, expires_at) VALUES ('a', x'', 1), ('b', x'00ff5c0a', 2)",
		"INSERT INTO usage_days VALUES (1, 'coder', 'm', 1, 2, 3, 4, 0.1 + 0.2, 0), (2, 'coder', 'm', 1, 2, 3, 4, 1e-9, 0)",
		"INSERT INTO viewed_files VALUES ((SELECT min(id) FROM tasks), 'user:maya', 'a b', 'm', 1)",
		"INSERT INTO run_specs (run_id, version, spec, at) SELECT id, 'z', '', 1 FROM runs ORDER BY id DESC",
		"INSERT INTO run_specs (run_id, version, spec, at) SELECT id, 'a', '', 1 FROM runs ORDER BY id",
		"INSERT INTO outbox (target, kind, task_id, text, created_at, not_before) " +
			"SELECT 'ops', 'notice', min(id), 'sent', 1, 2 FROM tasks",
		"DELETE FROM outbox WHERE id = (SELECT max(id) FROM outbox)",
	} {
		write(t, d, func(tx *db.Tx) error { return tx.Exec(q) })
	}
	for table, rows := range dump(t, d.Path()) {
		if rows == "" {
			t.Errorf("the test has no row in %s", table)
		}
	}
	return d
}

func checkDump(t *testing.T, got, want map[string]string) {
	t.Helper()
	equal(t, "tables", len(got), len(want))
	for table := range want {
		if got[table] != want[table] {
			t.Errorf("table %s: got\n%s\nwant\n%s", table, got[table], want[table])
		}
	}
}

func TestACopyIsComplete(t *testing.T) {
	t.Parallel()
	src := fullSource(t) // open, as in a running server
	want := dump(t, src.Path())
	for store, to := range copyTargets(t) {
		t.Run("on "+store, func(t *testing.T) {
			rows := 0
			r, err := db.Copy(t.Context(), src.Path(), to, func(c db.CopiedTable) { rows += c.Rows })
			ok(t, err)
			equal(t, "rows", rows, r.Rows)
			ok(t, src.Read(t.Context(), func(rx *db.Rx) error {
				head, err := rx.Head()
				equal(t, "end of the log", r.Log, head)
				return err
			}))
			back := filepath.Join(t.TempDir(), "back.db")
			_, err = db.Copy(t.Context(), to, back, nil)
			ok(t, err)
			checkDump(t, dump(t, back), want)
			ok(t, db.CheckFileIntegrity(t.Context(), back))
			found := useCopy(t, src, to)
			if len(found) == 0 {
				t.Error("the search found no archived task")
			}
		})
	}
}

// useCopy uses a copy as a server would and returns archived tasks that a search
// finds.
func useCopy(t *testing.T, src *db.DB, to string) (found []*task.Task) {
	t.Helper()
	opt := db.Options{Path: to, Log: slog.New(slog.DiscardHandler)}
	if db.IsPostgres(to) {
		opt.URL = to
	}
	d, err := db.Open(t.Context(), opt)
	ok(t, err)
	defer d.Close()
	given := "SELECT seq FROM sqlite_sequence WHERE name = 'tasks'"
	equal(t, "number of the next task", int(makeTask(t, d, "next")), count(t, src, given)+1)
	if _, err := checkChain(d); err != nil {
		t.Error(err)
	}
	errorContains(t, d.Write(t.Context(), func(tx *db.Tx) error { return tx.Exec("DELETE FROM events") }), "the log is append-only")
	indexHistory(t, d)
	ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
		ok(t, rx.CheckSearch())
		ok(t, rx.CheckInvariants())
		var err error
		found, _, err = rx.History(task.HistoryFilter{Query: "task", Limit: 5})
		return err
	}))
	return found
}

// SQLite stores any bytes as text.
func TestACopyReplacesTextThatPostgreSQLRejects(t *testing.T) {
	t.Parallel()
	if !dbtest.Postgres() {
		t.Skip("needs PostgreSQL")
	}
	src := dbtest.New(t, onSQLite)
	makeTask(t, src, "one")
	for _, text := range []string{"'a' || char(0) || 'b'", "CAST(x'61ff62' AS TEXT)", "CAST(x'61eda08062' AS TEXT)"} {
		write(t, src, func(tx *db.Tx) error {
			return tx.Exec("INSERT INTO messages (task_id, kind, author, content, created_at) SELECT id, 'comment', 'user:maya', " +
				text + ", 1 FROM tasks")
		})
	}
	to := dbtest.PostgresURL(t, t.TempDir())
	_, err := db.Copy(t.Context(), src.Path(), to, nil)
	ok(t, err)
	got := texts(t, raw(t, to), "SELECT content FROM messages ORDER BY id")
	equal(t, "texts", strings.Join(got, " "), "a\uFFFDb a\uFFFDb a\uFFFDb")
}

// SQLite tells Ö from ö in names, and PostgreSQL does not.
func TestACopyNamesWhatPostgreSQLTakesForEqual(t *testing.T) {
	t.Parallel()
	if !dbtest.Postgres() {
		t.Skip("needs PostgreSQL")
	}
	src := dbtest.New(t, onSQLite)
	for _, name := range []string{"Öz", "öz"} {
		write(t, src, func(tx *db.Tx) error {
			return tx.Exec("INSERT INTO users (name, role, password, created_at) VALUES ('" + name + "', 'viewer', '', 1)")
		})
	}
	_, err := db.Copy(t.Context(), src.Path(), dbtest.PostgresURL(t, t.TempDir()), nil)
	errorContains(t, err, "copy table users", "Key (name)=(öz) already exists", "Change one of the two rows")
}

// A copy that was killed while it created the schema can be repeated.
func TestCopyIntoAPartlyCreatedDatabase(t *testing.T) {
	t.Parallel()
	src := dbtest.New(t, onSQLite)
	makeTask(t, src, "one")
	for store, to := range copyTargets(t) {
		t.Run(store, func(t *testing.T) {
			begun := []string{"CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, " +
				"is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))"}
			if db.IsPostgres(to) {
				begun = []string{
					"DROP SCHEMA public CASCADE", "CREATE SCHEMA public",
					"CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY, " +
						"version_id BIGINT NOT NULL, is_applied BOOLEAN NOT NULL, tstamp TIMESTAMP NOT NULL DEFAULT now())",
					"INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, TRUE)",
				}
			}
			d := raw(t, to)
			for _, q := range begun {
				_, err := d.ExecContext(t.Context(), q)
				ok(t, err)
			}
			copied, err := db.Copy(t.Context(), src.Path(), to, nil)
			ok(t, err)
			equal(t, "it has rows", copied.Rows > 0, true)
		})
	}
}

func TestRefusedCopies(t *testing.T) {
	t.Parallel()
	src := dbtest.New(t, onSQLite)
	makeTask(t, src, "one")
	for store, to := range copyTargets(t) {
		t.Run("a nonempty target on "+store, func(t *testing.T) {
			_, err := db.Copy(t.Context(), src.Path(), to, nil)
			ok(t, err)
			_, err = db.Copy(t.Context(), src.Path(), to, nil)
			errorContains(t, err, "is not empty", "copy into a new database")
		})
	}
	t.Run("a file of another program is left unchanged", func(t *testing.T) {
		to := filepath.Join(t.TempDir(), "theirs.db")
		theirs := raw(t, to)
		_, err := theirs.ExecContext(t.Context(), "CREATE TABLE theirs AS SELECT 42 AS x")
		ok(t, err)
		_, err = db.Copy(t.Context(), src.Path(), to, nil)
		errorContains(t, err, "not a Taskyard database")
		var x int
		ok(t, theirs.QueryRowContext(t.Context(), "SELECT x FROM theirs").Scan(&x))
		equal(t, "what it has", x, 42)
	})
	t.Run("a target that a server has open", func(t *testing.T) {
		other := dbtest.New(t, onSQLite)
		lock, err := db.AcquireLock(other.Path())
		ok(t, err)
		defer func() { ok(t, lock.Release()) }()
		_, err = db.Copy(t.Context(), src.Path(), other.Path(), nil)
		errorContains(t, err, "another taskyard", "stop it first")
	})
	t.Run("a source that does not exist", func(t *testing.T) {
		dir := t.TempDir()
		_, err := db.Copy(t.Context(), filepath.Join(dir, "none.db"), filepath.Join(dir, "to.db"), nil)
		errorContains(t, err, "no database")
	})
	for change, want := range map[string]string{
		"INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)":                          "use a newer taskyard",
		"DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)": "start the server on it once",
		"DROP TABLE goose_db_version": "not a Taskyard database",
	} {
		t.Run("source: "+want, func(t *testing.T) {
			old := dbtest.New(t, onSQLite)
			write(t, old, func(tx *db.Tx) error { return tx.Exec(change) })
			_, err := db.Copy(t.Context(), old.Path(), filepath.Join(t.TempDir(), "to.db"), nil)
			errorContains(t, err, want)
		})
	}
}

func TestAFailedCopyLeavesTheTargetEmpty(t *testing.T) {
	t.Parallel()
	for what, damage := range map[string]struct {
		change []string
		says   string
	}{
		"a row that the target rejects": {
			[]string{"PRAGMA foreign_keys = OFF", "INSERT INTO votes VALUES (99, 'd', 'p', 1, '', 1, '')"}, "votes",
		},
		"a tampered log": {
			[]string{"DROP TRIGGER events_update", "UPDATE events SET actor = 'user:oleg'"}, "table events: line 1 of the log was changed",
		},
		"a broken invariant": {
			[]string{"UPDATE task_counts SET n = n + 1"}, "a wrong count of the tasks of an owner",
		},
	} {
		src := dbtest.New(t, onSQLite)
		makeTask(t, src, "one")
		c := raw(t, src.Path())
		c.SetMaxOpenConns(1)
		for _, q := range damage.change {
			_, err := c.ExecContext(t.Context(), q)
			ok(t, err)
		}
		for store, to := range copyTargets(t) {
			t.Run(what+", on "+store, func(t *testing.T) {
				_, err := db.Copy(t.Context(), src.Path(), to, nil)
				errorContains(t, err, damage.says)
				good := dbtest.New(t, onSQLite)
				makeTask(t, good, "good")
				_, err = db.Copy(t.Context(), good.Path(), to, nil) // the target is still empty
				ok(t, err)
				useCopy(t, good, to)
			})
		}
	}
}

func TestAPostgreSQLBackupIsASQLiteFile(t *testing.T) {
	t.Parallel()
	if !dbtest.Postgres() {
		t.Skip("needs PostgreSQL")
	}
	src := fullSource(t)
	url := dbtest.PostgresURL(t, t.TempDir())
	_, err := db.Copy(t.Context(), src.Path(), url, nil)
	ok(t, err)
	want := dump(t, src.Path())
	d, err := db.Open(t.Context(), db.Options{URL: url, Log: slog.New(slog.DiscardHandler)})
	ok(t, err)
	defer d.Close()
	dir := t.TempDir()
	for file, write := range map[string]func(file string) error{
		"open.db":   func(file string) error { return d.CopyInto(t.Context(), file) },
		"beside.db": func(file string) error { return db.CopyFileInto(t.Context(), url, file) },
	} {
		file = filepath.Join(dir, file)
		p, err := db.NewPartial(file)
		ok(t, err)
		defer p.Discard()
		ok(t, write(p.Name()))
		ok(t, p.Publish(file))
		errorContains(t, write(file), "already exists")
		checkDump(t, dump(t, file), want)
		_, _, err = db.Describe(t.Context(), file)
		ok(t, err)
	}
	t.Run("is a snapshot while others write", func(t *testing.T) {
		stop, ended := make(chan struct{}), make(chan error)
		go func() {
			for {
				select {
				case <-stop:
					ended <- nil
					return
				default:
				}
				if err := d.Write(t.Context(), func(tx *db.Tx) error { _, err := newTask(tx, "meanwhile"); return err }); err != nil {
					ended <- err
					return
				}
			}
		}()
		for n := range 3 {
			ok(t, d.CopyInto(t.Context(), filepath.Join(t.TempDir(), string(rune('a'+n)))))
		}
		close(stop)
		ok(t, <-ended)
	})
}

func TestADisplayedDatabaseURLHasNoPassword(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"postgres://u:secret@h/d":                    "postgres://u:xxxxx@h/d",
		"postgresql://h/d?host=/run&password=secret": "postgresql://h/d?host=%2Frun",
		"postgres://h/d?host=/run":                   "postgres://h/d?host=/run",
		"postgres://u:sec%zzret@h/d":                 "PostgreSQL",
		"/srv/taskyard.db":                           "/srv/taskyard.db",
	} {
		equal(t, name, db.ShownDatabase(name), want)
	}
}
