// Package dbfill fills a database with a year of sample work within seconds, for
// measurements and for tests of pages in a large instance.
package dbfill

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"taskyard/db"
	"taskyard/task"
)

// Size is the number of rows to create.
type Size struct {
	Open      int // tasks, at least 1,000
	Archived  int // tasks, at least 1,000
	Approvals int // runs that wait for approval, at most a tenth of Open
	Subtasks  int // of task Marks.Much, at least 200
	Comments  int // of the same task; also the number of items in each todo list
	Lines     int // in each of the two long transcripts
}

// Marks identifies the tasks and runs of a filled instance that tests look at.
type Marks struct {
	Much      task.ID // the task with subtasks, steps, comments, events, runs
	Sub       task.ID // one of its subtasks
	Open      task.ID // an open task
	Archived  task.ID // an archived task
	Asking    task.ID // an open task with an open question
	Approval  task.ID // a run that waits for approval
	LongRun   task.ID // an ended run with a long transcript
	LongLive  task.ID // a running run with a long transcript
	FailedRun task.ID
}

//go:embed year.sql
var year string

// driverName names the driver, registered once, with the functions that year.sql calls.
const driverName = "sqlite3_dbfill"

func init() {
	sql.Register(driverName, &sqlite3.SQLiteDriver{ConnectHook: func(c *sqlite3.SQLiteConn) error {
		return errors.Join(c.RegisterFunc("mix", mix, true), c.RegisterFunc("word", word, true), c.RegisterFunc("chained", chained(), false))
	}})
}

// chained returns a function that computes the hashes of consecutive log lines,
// starting with the first.
func chained() func(at int64, actor, kind string, id, run int64, agent, changes string) []byte {
	var last []byte
	return func(at int64, actor, kind string, id, run int64, agent, changes string) []byte {
		e := task.Event{At: task.Time(at), Actor: actor, Kind: kind, TaskID: task.ID(id), RunID: task.ID(run), Agent: agent}
		if changes != "" {
			e.Changes = json.RawMessage(changes)
		}
		last = db.Chain(last, e)
		return last
	}
}

// Year fills a migrated database that nothing else has open. The tasks belong to
// agents; now is the end of the year. Year does not build the search index.
func Year(ctx context.Context, path string, s Size, agents []string, now time.Time) (m Marks, err error) {
	d, err := sql.Open(driverName, "file:"+path+"?_foreign_keys=off")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	d.SetMaxOpenConns(1) // temporary tables exist per connection
	triggers, err := takeTriggers(ctx, d)
	if err != nil {
		return m, err
	}
	steps := []string{"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -262144"}
	steps = append(steps, parameters(s, agents, now)...)
	steps = append(steps, "BEGIN")
	steps = append(steps, statements(year)...)
	steps = append(steps, "COMMIT")
	steps = append(steps, triggers...)
	steps = append(steps, "PRAGMA journal_mode = WAL")
	for _, q := range steps {
		if _, err := d.ExecContext(ctx, q); err != nil {
			return m, fmt.Errorf("%w in %.200s", err, q)
		}
	}
	return marks(ctx, d, s)
}

// takeTriggers drops the triggers that protect history and returns the statements
// that create them again.
func takeTriggers(ctx context.Context, d *sql.DB) (again []string, err error) {
	rows, err := d.QueryContext(ctx, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		names, again = append(names, name), append(again, text)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, err := d.ExecContext(ctx, "DROP TRIGGER "+name); err != nil {
			return nil, err
		}
	}
	return again, nil
}

// statements splits a script after semicolons at the end of a line.
func statements(script string) []string {
	var list []string
	for part := range strings.SplitSeq(script, ";\n") {
		if strings.TrimSpace(part) != "" {
			list = append(list, part)
		}
	}
	return list
}

// parameters returns statements that create the script's temporary tables.
func parameters(s Size, agents []string, now time.Time) []string {
	spec, _ := json.Marshal(task.Spec{
		Agent: agents[0], DefinitionHash: "hash-of-" + agents[0], Runner: "far", Model: "sonnet", Tools: []string{"read", "grep", "edit", "bash"},
		SystemPrompt: strings.Repeat("You write code, run the tests before you say that it works, and ask when a decision is not yours. ", 12),
		Prompt:       strings.Repeat("What is to be done is in the task; its steps are the plan, its comments what people said about it.\n", 15),
		Workspace:    "/srv/repos/taskyard", Limits: task.Limits{TimeoutSeconds: 900, IdleTimeoutSeconds: 120, MaxTokens: 200_000},
	})
	list := []string{
		"CREATE TEMP TABLE phrase (kind TEXT, i INTEGER, text TEXT)",
		fmt.Sprintf("CREATE TEMP TABLE size AS SELECT %d AS now, %d AS open, %d AS archived, %d AS "+
			"approvals, %d AS subtasks, %d AS comments, %d AS lines, %s AS spec",
			now.UnixMilli(), s.Open, s.Archived, s.Approvals, s.Subtasks, s.Comments, s.Lines, quote(string(spec))),
	}
	for kind, words := range map[string][]string{"agent": agents, "person": people} {
		for i, w := range words {
			list = append(list, fmt.Sprintf("INSERT INTO phrase VALUES ('%s', %d, %s)", kind, i, quote(w)))
		}
	}
	setAgents(agents)
	return list
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func marks(ctx context.Context, d *sql.DB, s Size) (m Marks, err error) {
	m.Much = task.ID(s.Archived + s.Open + 1)
	m.Sub, m.Archived = m.Much+1, task.ID(s.Archived-s.Archived%10)
	err = d.QueryRowContext(ctx, `SELECT (SELECT max(id) FROM tasks WHERE archived_at IS NULL AND status = 'active'
 AND run_id IS NULL AND id < ?1), (SELECT max(id) FROM tasks WHERE question_id IS NOT NULL),
 (SELECT max(id) FROM runs WHERE phase = 'approval'), (SELECT max(id) FROM runs WHERE task_id = ?1), (SELECT max(id)
 FROM runs WHERE status = 'running'), (SELECT max(id) FROM runs WHERE status = 'failed')`, m.Much).
		Scan(&m.Open, &m.Asking, &m.Approval, &m.LongRun, &m.LongLive, &m.FailedRun)
	return m, err
}
