package db_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbtest"
)

// waitLog receives each log line that says the server is waiting for the database.
type waitLog chan string

func (waitLog) Enabled(context.Context, slog.Level) bool { return true }
func (w waitLog) WithAttrs([]slog.Attr) slog.Handler     { return w }
func (w waitLog) WithGroup(string) slog.Handler          { return w }

func (w waitLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "waiting for the database" {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "error" {
				w <- a.Value.String()
			}
			return true
		})
	}
	return nil
}

// openInBackground opens a database in the background and sends the result.
func openInBackground(ctx context.Context, url string) (lines waitLog, result chan error) {
	lines, result = make(waitLog, 100), make(chan error, 1)
	go func() {
		d, err := db.Open(ctx, db.Options{URL: url, Log: slog.New(lines)})
		if err == nil {
			err = d.Close()
		}
		result <- err
	}()
	return lines, result
}

// firstWait returns the first line that says why the server waits for the database.
func firstWait(t *testing.T, lines waitLog, result chan error) string {
	t.Helper()
	select {
	case line := <-lines:
		return line
	case err := <-result:
		t.Fatalf("Open did not wait for the database: %v", err)
	}
	return ""
}

func TestOpeningWaitsForPostgreSQL(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	var p dropper
	address, start := p.away(t, dbtest.PostgresURL(t, t.Name()))
	lines, result := openInBackground(t.Context(), address)
	if why := firstWait(t, lines, result); !strings.Contains(why, "no such file or directory") {
		t.Errorf("got reason %q", why)
	}
	start()
	ok(t, <-result)
	equal(t, "further lines", len(lines), 0)
}

func TestWaitingForPostgreSQLEndsWithTheContext(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	var p dropper
	address, _ := p.away(t, dbtest.PostgresURL(t, t.Name()))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines, result := openInBackground(ctx, address)
	firstWait(t, lines, result)
	begin := time.Now()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("Open returned after %v", took)
	}
}

// Open does not wait for problems that do not resolve themselves.
func TestOpeningDoesNotWaitForAnUnknownPostgreSQLDatabase(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	for what, change := range map[string]func(*url.URL){
		"database \"unknown\" does not exist": func(u *url.URL) { u.Path = "/unknown" },
		"role \"stranger\" does not exist":    func(u *url.URL) { u.User = url.User("stranger") },
	} {
		u, err := url.Parse(dbtest.PostgresURL(t, t.Name()))
		ok(t, err)
		change(u)
		lines, result := openInBackground(t.Context(), u.String())
		if err := <-result; err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want an error that contains %q", err, what)
		}
		equal(t, "log lines about waiting", len(lines), 0)
	}
}

// The address lists a primary and its standby in libpq's syntax. An unreachable host
// is skipped.
func TestAnAddressMayNameSeveralHosts(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	u, err := url.Parse(dbtest.PostgresURL(t, t.Name()))
	ok(t, err)
	host, port := cmp.Or(u.Query().Get("host"), u.Hostname()), cmp.Or(u.Query().Get("port"), u.Port(), "5432")
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	ok(t, err)
	t.Cleanup(func() { silent.Close() })
	_, silentPort, err := net.SplitHostPort(silent.Addr().String())
	ok(t, err)
	for _, tt := range []struct{ name, host, port, attrs string }{
		{"the first host does not listen", t.TempDir(), "5432", ""},
		{"the first host does not answer", "127.0.0.1", silentPort, ""},
		{"with target_session_attrs=read-write", host, port, "read-write"},
		{"with target_session_attrs=primary", host, port, "primary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := u.Query()
			q.Set("host", tt.host+","+host)
			q.Set("port", tt.port+","+port)
			if tt.attrs != "" {
				q.Set("target_session_attrs", tt.attrs)
			}
			several := *u
			several.Host, several.RawQuery = "", q.Encode()
			d := beside(t, several.String())
			write(t, d, func(tx *db.Tx) error { _, err := newTask(tx, "on the primary"); return err })
			ok(t, d.Read(t.Context(), func(rx *db.Rx) error { _, err := rx.Running(); return err }))
		})
	}
}

// A database that would not keep what is written to it is refused before its schema
// is made, with what to do.
func TestAnUnsuitablePostgreSQLDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	for _, tt := range []struct{ name, create, query, why string }{
		{"another encoding", "CREATE DATABASE %s ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0", "", "ENCODING 'UTF8'"},
		{"no encoding", "CREATE DATABASE %s ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0", "", "ENCODING 'UTF8'"},
		{"a role that may not create tables", "CREATE DATABASE %s; CREATE ROLE %[1]s LOGIN", "role", "make it the owner"},
		{"settings that have no effect", "CREATE DATABASE %s", "idle_in_transaction_session_timeout", "connection pooler"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(dbtest.PostgresURL(t, t.Name()))
			ok(t, err)
			name := "other_" + u.Path[1:]
			for _, statement := range strings.Split(fmt.Sprintf(tt.create, name), ";") {
				ok(t, dbtest.PostgresDo(u.String(), statement))
			}
			t.Cleanup(func() { ok(t, dbtest.PostgresDo(u.String(), "DROP DATABASE "+name+" WITH (FORCE)")) })
			other := *u
			other.Path = "/" + name
			switch q := other.Query(); tt.query {
			case "":
			case "role":
				other.User = url.User(name)
			default:
				q.Set(tt.query, "0")
				other.RawQuery = q.Encode()
			}
			_, err = db.Open(t.Context(), db.Options{URL: other.String(), Log: slog.New(slog.DiscardHandler)})
			if err == nil || !strings.Contains(err.Error(), tt.why) || strings.Contains(err.Error(), "cannot be reached") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// As after a restore by another user. The server would start otherwise, and some of
// its pages and writes would fail.
func TestAPostgreSQLTableThatTheUserMayNotUseIsNamed(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	owner := dbtest.PostgresURL(t, t.Name())
	beside(t, owner)
	u, err := url.Parse(owner)
	ok(t, err)
	role := "guest_" + u.Path[1:]
	for _, q := range []string{
		"CREATE ROLE %s LOGIN", "GRANT ALL ON ALL TABLES IN SCHEMA public TO %s", "REVOKE INSERT ON messages FROM %s",
	} {
		ok(t, dbtest.PostgresDo(owner, fmt.Sprintf(q, role)))
	}
	t.Cleanup(func() {
		ok(t, dbtest.PostgresDo(owner, "DROP OWNED BY "+role))
		ok(t, dbtest.PostgresDo(owner, "DROP ROLE "+role))
	})
	u.User = url.User(role)
	open := func() error {
		d, err := db.Open(t.Context(), db.Options{URL: u.String(), Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			ok(t, d.Close())
		}
		return err
	}
	errorContains(t, open(), "this user of PostgreSQL may not read and write the table messages", "make the user the owner")
	ok(t, dbtest.PostgresDo(owner, "GRANT INSERT ON messages TO "+role))
	ok(t, dbtest.PostgresDo(owner, "CREATE TABLE theirs (id integer)")) // as an extension makes them
	ok(t, open())
}

// A timeout that the role has is not for what the server does: a write waits for
// that of another server.
func TestTimeoutsOfTheRoleDoNotEndWrites(t *testing.T) {
	t.Parallel()
	postgresOnly(t)
	u, err := url.Parse(dbtest.PostgresURL(t, t.Name()))
	ok(t, err)
	for _, setting := range []string{"statement_timeout", "idle_session_timeout"} {
		ok(t, dbtest.PostgresDo(u.String(), "ALTER DATABASE "+u.Path[1:]+" SET "+setting+" = 200"))
	}
	d := beside(t, u.String())
	for _, setting := range []string{"statement_timeout", "idle_session_timeout"} {
		equal(t, setting, count(t, d, "SELECT CAST(setting AS BIGINT) FROM pg_settings WHERE name = '"+setting+"'"), 0)
	}
}
