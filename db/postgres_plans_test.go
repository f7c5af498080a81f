package db_test

import (
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"

	"taskyard/db"
)

// On PostgreSQL no statement walks over a table that grows with history, but for
// these.
var (
	walksHistory = regexp.MustCompile(`Seq Scan on (tasks|runs|run_files|run_work|messages|events|steps|resources|history_labels|stats_hours)\b`)
	mayWalk      = []string{
		"INSERT INTO stats_hours", // sums up the last days again
		"UPDATE run_files SET",    // removes old diffs, once a day
	}
	argument = regexp.MustCompile(`\$\d+`)
	bounds   = regexp.MustCompile(`^(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE) ?`) // of a transaction: they have no plan
)

// checkPostgresPlans reads the plans of statements on a copy of an old instance,
// as connections have them made: without knowing their arguments.
func checkPostgresPlans(t *testing.T, statements []string) {
	to := copyTargets(t)["PostgreSQL"]
	_, err := db.Copy(t.Context(), oldInstance(t), to, nil)
	ok(t, err)
	c, err := raw(t, to).Conn(t.Context())
	ok(t, err)
	defer c.Close()
	run := func(q string) {
		t.Helper()
		_, err := c.ExecContext(t.Context(), q)
		ok(t, err)
	}
	run("ANALYZE")
	for name, value := range db.PostgresSettings {
		run("SET " + name + " = '" + value + "'")
	}
	planned := 0
	for _, q := range statements {
		if bounds.MatchString(q) {
			continue
		}
		text, values := db.ForPostgres(q), ""
		if args := argument.FindAllString(text, -1); args != nil {
			slices.Sort(args)
			values = "(NULL" + strings.Repeat(", NULL", len(slices.Compact(args))-1) + ")"
		}
		run("PREPARE q AS " + text)
		for _, line := range explained(t, c, values) {
			if walksHistory.MatchString(line) && !slices.ContainsFunc(mayWalk, func(s string) bool { return strings.Contains(q, s) }) {
				t.Errorf("%s\n in %s", line, q)
			}
		}
		// After a change of a table or its statistics, a statement is analyzed
		// again, now with the types that its arguments were given.
		run("DISCARD PLANS")
		explained(t, c, values)
		run("DEALLOCATE q")
		planned++
	}
	if planned < 300 {
		t.Errorf("only %d statements were planned", planned)
	}
}

// explained returns the lines of the plan of q, which is prepared.
func explained(t *testing.T, c *sql.Conn, values string) (lines []string) {
	t.Helper()
	rows, err := c.QueryContext(t.Context(), "EXPLAIN EXECUTE q"+values)
	ok(t, err)
	defer rows.Close()
	for rows.Next() {
		var line string
		ok(t, rows.Scan(&line))
		lines = append(lines, line)
	}
	ok(t, rows.Err())
	return lines
}
