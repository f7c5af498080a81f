//go:build !windows

package cmd

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"taskyard/db"
	"taskyard/internal/app"
)

// dbCmd contains the commands for the database itself.
type dbCmd struct {
	Copy dbCopyCmd `cmd:"" help:"Copy the whole database into a new one, on SQLite or PostgreSQL, and verify the copy."`
}

type dbCopyCmd struct {
	From string `required:"" help:"Database to copy: sqlite:PATH or postgres://…" placeholder:"DATABASE"`
	To   string `required:"" help:"Database to write, which must be new and empty: sqlite:PATH or postgres://…" placeholder:"DATABASE"`
}

// Run copies a database.
func (c *dbCopyCmd) Run(e *Env) error {
	from, err := databaseName("--from", c.From)
	if err != nil {
		return err
	}
	to, err := databaseName("--to", c.To)
	if err != nil {
		return err
	}
	r, err := db.Copy(e.Ctx, from, to, func(t db.CopiedTable) {
		fmt.Fprintf(e.Stdout, "%-16s %9d rows  %s\n", t.Name, t.Rows, t.Took.Round(time.Millisecond))
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "copied and verified: %d tables, %d rows; the end of the log is %s\n", r.Tables, r.Rows, r.Log)
	nextStep(e.Stdout, to)
	return nil
}

// databaseName converts the value of a flag to a database name of package db.
func databaseName(flag, value string) (string, error) {
	path, ok := strings.CutPrefix(value, "sqlite:")
	switch {
	case db.IsPostgres(value):
		return value, nil
	case ok && path != "":
		return path, nil
	}
	return "", &usageError{flag + ": name a database as sqlite:PATH or postgres://USER@HOST/NAME"}
}

// nextStep prints how to use the copy.
func nextStep(out io.Writer, to string) {
	switch dir := filepath.Dir(to); {
	case db.IsPostgres(to):
		fmt.Fprintf(out, "next: set database = %q in the configuration and start the server\n", db.ShownDatabase(to))
	case to == app.DBPath(dir):
		fmt.Fprintf(out, "next: start the server with --data %s, without database in its configuration\n", dir)
	default:
		fmt.Fprintf(out, "next: move the file to taskyard.db in a data folder and start the server there\n")
	}
}
