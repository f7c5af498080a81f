package cmd

import (
	"bytes"
	"database/sql"
	"strings"
	"testing"
	"time"

	"taskyard/db/dbtest"
)

// Servers with different clocks would treat each other's leases as expired.
func TestCommandsOnPostgresUseTheClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	if !dbtest.Postgres() {
		t.Skip("SQLite uses the clock of the server")
	}
	url := dbtest.PostgresAhead(t)
	var out bytes.Buffer
	code := Run(&Env{
		Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" },
		Environ: []string{"TASKYARD_DATABASE=" + url},
	}, []string{"token", "create", "--data", t.TempDir(), "--scope", "read", "--name", "one"})
	if code != 0 {
		t.Fatalf("%d %s", code, &out)
	}
	c, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var at int64
	if err := c.QueryRowContext(t.Context(), "SELECT created_at FROM tokens WHERE name = 'one'").Scan(&at); err != nil {
		t.Fatal(err)
	}
	if ahead := time.Until(time.UnixMilli(at)); ahead < 50*time.Minute {
		t.Errorf("a token was created %v ahead of this machine's clock, want an hour as the database", ahead.Round(time.Second))
	}
}
