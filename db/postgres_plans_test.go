package db_test

import (
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"

	"taskyard/db"
)

// On PostgreSQL only these statements may scan a table that grows with history.
var (
	walksHistory = regexp.MustCompile(`Seq Scan on (tasks|runs|run_files|run_work|messages|events|steps|resources|history_labels|stats_hours)\b`)
	mayWalk      = []string{
		"INSERT INTO stats_hours", // recounts the last days
		"UPDATE run_files SET",    // removes old diffs once per day
	}
	argument = regexp.MustCompile(`\$\d+`)
	bounds   = regexp.MustCompile(`^(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE) ?`) // statements of transactions, which have no plan
)

// checkPostgresPlans checks the generic plans of statements on a copy of an old
// instance, as connections use them.
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
		for _, line := range explainPlan(t, c, values) {
			if walksHistory.MatchString(line) && !slices.ContainsFunc(mayWalk, func(s string) bool { return strings.Contains(q, s) }) {
				t.Errorf("%s\n in %s", line, q)
			}
		}
		// After a change to a table or its statistics, PostgreSQL analyzes a statement
		// again, now with the types of the given arguments.
		run("DISCARD PLANS")
		explainPlan(t, c, values)
		run("DEALLOCATE q")
		planned++
	}
	if planned < 300 {
		t.Errorf("planned only %d statements", planned)
	}
}

// explainPlan returns the lines of the plan of the prepared statement q.
func explainPlan(t *testing.T, c *sql.Conn, values string) (lines []string) {
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
