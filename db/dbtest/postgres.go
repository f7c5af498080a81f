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

	_ "github.com/jackc/pgx/v5/stdlib" // to create databases

	"taskyard/db"
	"taskyard/internal/testkit"
)

// postgresKey selects PostgreSQL as the store of the tests. "start" starts a server
// from the installed programs; any other value is the URL of a server whose user may
// create databases. The variable is removed from the environment because the server
// rejects unknown variables with its prefix.
const postgresKey = "TASKYARD_TEST_POSTGRES"

var wanted = func() string {
	v := os.Getenv(postgresKey)
	_ = os.Unsetenv(postgresKey)
	return v
}()

// Postgres reports whether the tests use PostgreSQL.
func Postgres() bool {
	_ = os.Getenv(postgresKey) // reading it during the tests invalidates cached results
	return wanted != ""
}

// SQLiteOnly skips a test of something that only SQLite has, such as copies of
// database files and damage to them.
func SQLiteOnly(t testing.TB) {
	t.Helper()
	if Postgres() {
		t.Skip("SQLite only")
	}
}

// server is the PostgreSQL server of this process.
var server struct {
	once sync.Once
	url  string
	err  error

	mu    sync.Mutex
	count int
	of    map[string]string // databases by the path that a test passed
}

// PostgresURL returns the URL of a migrated database for path. The same path always
// gets the same database.
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
	if err := PostgresDo(server.url, "CREATE DATABASE "+name+" TEMPLATE "+template()+" STRATEGY file_copy"); err != nil {
		t.Fatal(err)
	}
	server.of[path] = name
	t.Cleanup(func() {
		server.mu.Lock()
		defer server.mu.Unlock()
		delete(server.of, path)
		if err := PostgresDo(server.url, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	return databaseURL(name)
}

// PostgresAhead is like PostgresURL for a database whose clock is an hour ahead of
// this machine's clock.
func PostgresAhead(t testing.TB) string {
	t.Helper()
	u, err := url.Parse(PostgresURL(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"CREATE SCHEMA ahead", "CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz " +
		"LANGUAGE sql AS $$ SELECT pg_catalog.clock_timestamp() + interval '1 hour' $$"} {
		if err := PostgresDo(u.String(), statement); err != nil {
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
	if server.err = PostgresDo(server.url, "CREATE DATABASE "+template()); server.err != nil {
		return
	}
	d, err := db.Open(context.Background(), db.Options{URL: databaseURL(template()), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		server.err = err
		return
	}
	server.err = d.Close()
}

// PostgresDo runs a statement on a separate connection.
func PostgresDo(url, statement string) error {
	c, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	_, err = c.ExecContext(context.Background(), statement)
	return errors.Join(err, c.Close())
}
