package db_test

import (
	"database/sql/driver"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"taskyard/db"
	"taskyard/db/dbfill"
	"taskyard/db/dbtest"
)

// liveIndexes hold live rows alone, so that walking one costs what is open
// now, never what is history.
var liveIndexes = []string{
	"tasks_open", "tasks_owner", "tasks_claimable", "tasks_lease", "runs_running",
	"runs_queued", "runs_approval", "permissions_expiry", "tasks_question", "tasks_stuck",
	"tasks_blocker_canceled", "outbox_due", "tokens_agent", "runs_closing",
	"tasks_draft", "tasks_blocked", "tasks_failed", "tasks_held_up",
	"tasks_project", "tasks_awaits", "results_review", "merges_queue",
}

// allowedScans names the statements that may walk more, with the reason.
var allowedScans = []struct{ statement, scan, reason string }{
	{"SELECT hash FROM events ORDER BY id DESC LIMIT 1", "SCAN events", "the last row alone"},
	{"hash FROM events ORDER BY id", "SCAN events", "the check of the whole chain reads the whole log"},
	{
		"FROM tokens WHERE run_id IS NULL ORDER BY id DESC LIMIT 500", "SCAN tokens",
		"the admin's list of tokens, newest first, ended by its LIMIT; tokens of runs are deleted with them",
	},
	{"FROM projects", "SCAN projects", "at most 500"},
	{"WITH o AS", "SCAN o", "files that open results have in common, at most 5,000"},
	{"FROM users", "SCAN users", "people are few"},
	{"FROM jobs", "SCAN jobs", "one row a job"},
	{"version FROM agent_files ORDER BY agent", "SCAN agent_files", "one row an agent"},
	{"FROM task_counts c CROSS JOIN tasks t", "SCAN c", "a row for each status of an owner"},
	{"FROM task_counts c WHERE status IN", "SCAN c", "a row for each status of an owner"},
	{"FROM task_counts WHERE status IN", "SCAN task_counts", "a row for each status of an owner"},
	{"FROM pauses", "SCAN pauses", "one row a paused agent"},
	{"FROM ticks ORDER BY id DESC LIMIT", "SCAN ticks", "the last rows alone"},
	{"FROM search s WHERE search MATCH", "SCAN s VIRTUAL TABLE", "the full-text index itself"},
	{"FROM search s CROSS JOIN tasks", "SCAN s VIRTUAL TABLE", "the full-text index itself"},
	{"FROM search_lines s CROSS JOIN", "SCAN s VIRTUAL TABLE", "the full-text index itself"},
	{"FROM search_lines s WHERE", "SCAN s VIRTUAL TABLE", "the full-text index itself"},
	{"FROM open_search WHERE", "SCAN open_search VIRTUAL TABLE", "the full-text index itself"},
	{"INDEXED BY open_texts_title", "SCAN o USING COVERING INDEX open_texts_title", "in the order of titles, ended by its LIMIT"},
	{"INDEXED BY open_times_created", "SCAN o USING COVERING INDEX open_times_created", "in the order of age, ended by its LIMIT"},
	{"INDEXED BY open_times_updated", "SCAN o USING COVERING INDEX open_times_updated", "in the order of changes, ended by its LIMIT"},
	{"FROM open_times o CROSS JOIN", "SCAN o", "in the order of ids, ended by its LIMIT"},
	{"FROM search_parts WHERE", "SCAN search_parts VIRTUAL TABLE", "the full-text index itself"},
	{"DELETE FROM search WHERE docid", "SCAN search VIRTUAL TABLE INDEX 1", "one row, by its docid"},
	{"DELETE FROM search_lines WHERE docid", "SCAN search_lines VIRTUAL TABLE INDEX 1", "one row, by its docid"},
	{"pragma_page_count", "SCAN pragma_page", "a table of one row"},
	{"UPDATE outbox SET not_before = not_before +", "SCAN outbox", "what is not sent yet, after a step back of the clock"},
	{"FROM sqlite_sequence", "SCAN sqlite_sequence", "one row a table"},
	{"UPDATE sqlite_sequence", "SCAN sqlite_sequence", "one row a table"},
}

// harmless are the scans of what a statement itself has computed.
var harmless = regexp.MustCompile(`^SCAN (up|down|below|page|CONSTANT ROW|\(subquery-\d+\)|SUBQUERY \d+|(j|json_each)( VIRTUAL TABLE INDEX \d+:)?)$`)

// ordered are the queues and lists that may be long: their index gives the
// order, so that a page costs the same in any instance. few have short lists.
var (
	ordered = regexp.MustCompile(`ORDER BY (t\.)?(priority|archived_at) DESC|ORDER BY (t\.question_id|n\.message_id)\b|ORDER BY (r\.|s\.doc)?id DESC LIMIT \?$`)
	few     = regexp.MustCompile(`t\.parent_id = \?|archived_at IS NULL AND FALSE `)
)

// cursors are the places in a queue where a page begins; wholeMoment shows a look at
// all tasks of that moment.
var (
	cursors     = regexp.MustCompile(`created_at, (t\.)?id\) [<>] \(`)
	wholeMoment = regexp.MustCompile(` created_at[<>]\?\)$`)
)

// rare are conditions that few rows fit, and the indexes of many rows that
// SQLite may take for them, since it does not know that they are few.
var rare = []struct{ condition, wide *regexp.Regexp }{
	{
		regexp.MustCompile(`(WHERE|AND) (r\.)?status = 'pending'\s+AND (r\.)?phase = '`),
		regexp.MustCompile(` runs_status \(status=\?\)`),
	},
	{
		regexp.MustCompile(`WHERE t\.blockers_canceled > 0|t\.archived_at IS NULL( AND t\.owner = \?)?` +
			`( AND t\.status = 'active' AND t\.claim_expires > \?| AND t\.parent_id = \?)`),
		regexp.MustCompile(` tasks_(open|owner)\b`),
	},
}

func TestEveryStatementUsesAnIndex(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	undo := db.OnPrepare(func(q string) {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(seen, q) {
			seen = append(seen, q)
		}
	})
	t.Cleanup(undo) // after the tour's database is closed
	t.Run("tour", tour)
	mu.Lock()
	statements := slices.Clone(seen)
	mu.Unlock()
	t.Run("and the tour meets every statement of the package", func(t *testing.T) { complete(t, statements) })
	if dbtest.Postgres() {
		t.Run("in an instance of a year", func(t *testing.T) { checkPostgresPlans(t, statements) })
		return
	}
	used := map[string]bool{}
	t.Run("in a new instance", func(t *testing.T) { checkPlans(t, dbtest.New(t).Path(), statements, used) })
	for _, a := range allowedScans {
		if !used[a.statement] {
			t.Errorf("the exception %q is not needed", a.statement)
		}
	}
	t.Run("and none is prepared again for other arguments", func(t *testing.T) { preparedOnce(t, statements) })
}

// TestPlansDoNotDependOnTheMoment: statistics of a moment are removed, whoever
// gathered them, and a server gathers none.
func TestPlansDoNotDependOnTheMoment(t *testing.T) {
	t.Parallel()
	dbtest.SQLiteOnly(t)
	path := filepath.Join(t.TempDir(), "taskyard.db")
	statistics := func() (n int) {
		t.Helper()
		ok(t, raw(t, path).QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sqlite_stat_'").Scan(&n))
		return n
	}
	d := dbtest.Open(t, path)
	ok(t, d.Write(t.Context(), func(tx *db.Tx) error { return tx.SetSetting("a", "b") }))
	ok(t, d.Close())
	equal(t, "statistics that a server left", statistics(), 0)
	_, err := raw(t, path).ExecContext(t.Context(), "ANALYZE")
	ok(t, err)
	equal(t, "statistics that somebody gathered", statistics(), 1)
	d = dbtest.Open(t, path)
	equal(t, "statistics after the next start", statistics(), 0)
	ok(t, d.Close())
}

// oldInstance is a database of a server that ran for long.
func oldInstance(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "taskyard.db")
	ok(t, dbtest.Open(t, path, onSQLite).Close())
	_, err := dbfill.Year(t.Context(), path, dbfill.Size{
		Open: 1000, Archived: 5000, Approvals: 100, Subtasks: 200,
		Comments: 100, Lines: 100,
	}, []string{"coder", "other", "third"}, time.Now())
	ok(t, err)
	return path
}

func checkPlans(t *testing.T, path string, statements []string, used map[string]bool) {
	for _, q := range statements {
		q, _, _ = strings.Cut(q, " RETURNING ") // what is read back is read by a SELECT, too
		lines := plan(t, path, q)
		for _, line := range lines {
			if strings.Contains(line, "TEMP B-TREE FOR ORDER") && !shortList(lines) && ordered.MatchString(q) && !few.MatchString(q) {
				t.Errorf("%s\n in %s", line, q)
			}
			for _, r := range rare {
				if r.condition.MatchString(q) && r.wide.MatchString(line) && !strings.Contains(q, "INDEXED BY tasks_o") {
					t.Errorf("what few rows have is looked for in many: %s\n in %s", line, q)
				}
			}
			if strings.Contains(q, "FROM events WHERE id > ?") && strings.Contains(line, "INDEX events_") && !strings.Contains(line, "=?") {
				t.Errorf("the end of the log is read from its index of another column: %s\n in %s", line, q)
			}
			if cursors.MatchString(q) && wholeMoment.MatchString(line) {
				t.Errorf("it begins to look with the first or last task of the moment: %s\n in %s", line, q)
			}
			if !strings.HasPrefix(line, "SCAN ") || harmless.MatchString(line) {
				continue
			}
			if _, index, found := strings.Cut(line, "INDEX "); found && slices.Contains(liveIndexes, index) {
				continue
			}
			if !allowed(q, line, used) {
				t.Errorf("%s\n in %s", line, q)
			}
		}
	}
}

// shortList reports whether a plan sorts what a short index gives: tasks that are
// worked on, failed or ask.
func shortList(lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "SEARCH t USING INDEX tasks_lease ") ||
			line == "SCAN t USING INDEX tasks_lease" || strings.HasPrefix(line, "SCAN t USING INDEX tasks_stuck") ||
			strings.HasPrefix(line, "SEARCH t USING INDEX tasks_question ")
	})
}

func allowed(q, line string, used map[string]bool) bool {
	for _, a := range allowedScans {
		if strings.Contains(q, a.statement) && strings.HasPrefix(line, a.scan) {
			used[a.statement] = true
			return true
		}
	}
	return false
}

// plan returns the lines of EXPLAIN QUERY PLAN with nothing bound.
func plan(t *testing.T, path, q string) (lines []string) {
	t.Helper()
	verb, _, _ := strings.Cut(strings.TrimSpace(q), " ")
	if !slices.Contains([]string{"SELECT", "UPDATE", "DELETE", "INSERT", "WITH"}, verb) {
		return nil
	}
	c, err := raw(t, path).Conn(t.Context())
	ok(t, err)
	defer c.Close()
	n := 0
	ok(t, c.Raw(func(dc any) error {
		s, err := dc.(driver.Conn).Prepare(q)
		if err != nil {
			return err
		}
		n = s.NumInput()
		return s.Close()
	}))
	rows, err := c.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q, make([]any, n)...)
	ok(t, err)
	defer rows.Close()
	for rows.Next() {
		var a, b, c int
		var detail string
		ok(t, rows.Scan(&a, &b, &c, &detail))
		lines = append(lines, detail)
	}
	ok(t, rows.Err())
	return lines
}

// peeked are the conditions whose argument SQLite must know to choose an index: it
// prepares their statements again each time. Virtual tables prepare statements of
// their own.
var peeked = regexp.MustCompile(`\bstatus = \?| LIKE \?| MATCH |pragma_`)

// preparedOnce runs every statement that reads with other arguments each time;
// SQLite asks the authorizer whenever it prepares one.
func preparedOnce(t *testing.T, statements []string) {
	c, err := raw(t, oldInstance(t)).Conn(t.Context())
	ok(t, err)
	defer c.Close()
	ok(t, c.Raw(func(dc any) error {
		asked := 0
		dc.(*sqlite3.SQLiteConn).RegisterAuthorizer(func(int, string, string, string) int { asked++; return sqlite3.SQLITE_OK })
		for _, q := range statements {
			if !strings.HasPrefix(q, "SELECT") && !strings.HasPrefix(q, "WITH") || peeked.MatchString(q) {
				continue
			}
			s, err := dc.(driver.Conn).Prepare(db.Unpeeked(q))
			if err != nil {
				return err
			}
			asked = 0
			for n := range 3 {
				args := make([]driver.NamedValue, s.NumInput())
				for i := range args {
					args[i] = driver.NamedValue{Ordinal: i + 1, Value: int64(n)}
				}
				rows, err := s.(driver.StmtQueryContext).QueryContext(t.Context(), args)
				if err != nil {
					return err
				}
				_ = rows.Next(make([]driver.Value, len(rows.Columns()))) // what it finds, or that the argument makes no sense
				if err := rows.Close(); err != nil {
					return err
				}
			}
			if asked > 0 {
				t.Errorf("prepared again: %s", q)
			}
			if err := s.Close(); err != nil {
				return err
			}
		}
		return nil
	}))
}

// isDual reports whether a type is that of a statement that the two stores
// write differently.
func isDual(e ast.Expr) bool {
	id, is := e.(*ast.Ident)
	return is && id.Name == "dual"
}

// complete reads the package's own source: each piece of SQL in it must occur
// in a statement that was prepared.
func complete(t *testing.T, statements []string) {
	all := strings.Join(statements, "\n")
	sqlText := regexp.MustCompile(`\b(FROM|UPDATE|INSERT|DELETE) `)
	files, err := os.ReadDir(".")
	ok(t, err)
	pieces := 0
	for _, f := range files {
		switch name := f.Name(); {
		case !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"), name == "restore.go", name == "revive.go",
			name == "head.go", name == "backup.go", name == "migrate.go", name == "check.go", strings.HasPrefix(name, "copy"):
			continue // files of their own, and checks that read everything
		case dbtest.Postgres() && name == "db.go", !dbtest.Postgres() && strings.HasPrefix(name, "postgres"):
			continue // of the other store
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		ok(t, err)
		var visit func(n ast.Node) bool
		visit = func(n ast.Node) bool {
			if pair, is := n.(*ast.CompositeLit); is && isDual(pair.Type) {
				own := pair.Elts[0]
				if dbtest.Postgres() {
					own = pair.Elts[1]
				}
				ast.Inspect(own, visit)
				return false
			}
			lit, is := n.(*ast.BasicLit)
			if !is || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || !sqlText.MatchString(text) {
				return true
			}
			if strings.Contains(text, "FROM commits") || strings.Contains(text, "FROM pg_control_system") || strings.Contains(text, "FROM m ") ||
				strings.Contains(text, "MATERIALIZED") {
				return true // of a connection that was lost, or is not admitted yet, or of what is old: they have tests of their own
			}
			if pieces++; !strings.Contains(all, text) {
				t.Errorf("%s: the tour does not meet %q", f.Name(), text)
			}
			return true
		}
		ast.Inspect(file, visit)
	}
	if pieces < 50 {
		t.Errorf("only %d pieces of SQL were found", pieces)
	}
}
