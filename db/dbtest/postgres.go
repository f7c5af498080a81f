package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // to make databases

	"taskyard/db"
	"taskyard/internal/testkit"
)

// postgresKey selects PostgreSQL as the store of the tests: "start" starts a
// server of the installed programs, else it is the URL of a server whose user
// may make databases. The variable is removed from the environment: the server
// refuses one of its prefix that it does not know.
const postgresKey = "TASKYARD_TEST_POSTGRES"

var wanted = func() string {
	v := os.Getenv(postgresKey)
	_ = os.Unsetenv(postgresKey)
	return v
}()

// Postgres reports whether the tests use PostgreSQL.
func Postgres() bool {
	_ = os.Getenv(postgresKey) // read during the tests, it invalidates their cached result
	return wanted != ""
}

// SQLiteOnly skips a test of what only SQLite has: files, their copies and
// their damages.
func SQLiteOnly(t testing.TB) {
	t.Helper()
	if Postgres() {
		t.Skip("of the files of SQLite")
	}
}

// server is the PostgreSQL server of this process.
var server struct {
	once sync.Once
	url  string
	err  error

	mu    sync.Mutex
	count int
	of    map[string]string // databases by the path that a test gave them
}

// PostgresURL returns the URL of a migrated database of its own, by the name
// path; the same one for the same path.
func PostgresURL(t testing.TB, path string) string {
	t.Helper()
	server.once.Do(startServer)
	if server.err != nil {
		t.Fatalf("start PostgreSQL: %v", server.err)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if name := server.of[path]; name != "" {
		return databaseURL(name)
	}
	server.count++
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), server.count)
	if err := do(server.url, "CREATE DATABASE "+name+" TEMPLATE "+template()+" STRATEGY file_copy"); err != nil {
		t.Fatal(err)
	}
	server.of[path] = name
	t.Cleanup(func() {
		server.mu.Lock()
		defer server.mu.Unlock()
		delete(server.of, path)
		if err := do(server.url, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	return databaseURL(name)
}

// PostgresAhead returns the URL of a database as PostgresURL does, whose clock is
// an hour ahead of that of this machine.
func PostgresAhead(t testing.TB) string {
	t.Helper()
	u, err := url.Parse(PostgresURL(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"CREATE SCHEMA ahead", "CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz " +
		"LANGUAGE sql AS $$ SELECT pg_catalog.clock_timestamp() + interval '1 hour' $$"} {
		if err := do(u.String(), statement); err != nil {
			t.Fatal(err)
		}
	}
	q := u.Query()
	q.Set("search_path", "public,ahead,pg_catalog")
	u.RawQuery = q.Encode()
	return u.String()
}

func template() string { return fmt.Sprintf("template_%d", os.Getpid()) }

func databaseURL(name string) string {
	u, _ := url.Parse(server.url)
	u.Path = "/" + name
	return u.String()
}

func startServer() {
	server.of = map[string]string{}
	server.url = wanted
	if wanted == "start" {
		started, err := testkit.StartPostgres()
		if err != nil {
			server.err = err
			return
		}
		server.url = started.URL
	}
	if server.err = do(server.url, "CREATE DATABASE "+template()); server.err != nil {
		return
	}
	d, err := db.Open(context.Background(), db.Options{URL: databaseURL(template()), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		server.err = err
		return
	}
	server.err = d.Close()
}

// do runs a statement over a connection of its own.
func do(url, statement string) error {
	c, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	_, err = c.ExecContext(context.Background(), statement)
	return errors.Join(err, c.Close())
}
