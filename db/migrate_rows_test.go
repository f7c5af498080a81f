package db_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"

	"taskyard/db/dbtest"
)

// atSchema creates a database at an earlier schema version, with the rows that the
// statements in fill insert.
func atSchema(t *testing.T, version int64, fill ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "taskyard.db")
	c := raw(t, path)
	p, err := goose.NewProvider(goose.DialectSQLite3, c, os.DirFS("migrations"), goose.WithDisableGlobalRegistry(true))
	ok(t, err)
	if _, err := p.UpTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	for _, q := range fill {
		if _, err := c.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	ok(t, c.Close())
	return path
}

// TestMigrationReadsTextAuthorsFromTheLog migrates tasks of schema 4, which did not
// store the last author of the title and the description.
func TestMigrationReadsTextAuthorsFromTheLog(t *testing.T) {
	t.Parallel()
	dbtest.SQLiteOnly(t)
	const archived = "archived_at, status) VALUES (%d, 'T', 'coder', '%s', 1, 1, 1, 'done')"
	const open = "status) VALUES (%d, 'T', 'coder', '%s', 1, 1, 'active')"
	row := func(id int, by, rest string) string {
		return fmt.Sprintf("INSERT INTO tasks (id, title, owner, created_by, created_at, updated_at, "+rest, id, by)
	}
	event := func(id int, actor, kind, changes string) string {
		return fmt.Sprintf("INSERT INTO events (at, actor, kind, task_id, changes, hash) "+
			"VALUES (1, '%s', '%s', %d, '%s', x'00')", actor, kind, id, changes)
	}
	path := atSchema(t, 4,
		row(1, "user:maya", open),
		event(1, "user:maya", "task.created", `{"title":"T"}`), event(1, "coder", "task.commented", ""),
		row(2, "user:maya", open),
		event(2, "reader", "task.updated", `{"title":["T","U"]}`), event(2, "coder", "task.updated", `{"title":["U","V"],"priority":[0,1]}`),
		event(2, "reader", "task.updated", `{"description":["","D"]}`),
		event(2, "other", "task.updated", `{"priority":[1,2]}`), event(2, "other", "task.updated", ""),
		row(3, "coder", open),
		event(3, "reader", "task.updated", `{"title":["T","U"],"description":["","D"]}`),
		event(3, "coder", "task.updated", `{"title":["U","V"]}`),
		row(4, "user:maya", open),
		event(4, "import", "task.updated", `{"description":null}`), event(4, "reader", "task.completed", `{"title":["T","U"]}`),
		row(5, "user:maya", archived),
		event(5, "reader", "task.updated", `{"title":["T","U"],"description":["","D"]}`),
	)
	d := dbtest.Open(t, path)
	for id, want := range map[int][2]string{
		1: {"", ""},            // never edited
		2: {"coder", "reader"}, // each by its last author
		3: {"", "reader"},      // the creator edited the title last
		4: {"", "import"},      // only update events name an author
		5: {"", ""},            // archived tasks are read-only
	} {
		q := fmt.Sprintf("SELECT count(*) FROM tasks WHERE id = %d AND title_by = '%s' AND description_by = '%s'", id, want[0], want[1])
		if count(t, d, q) != 1 {
			var title, description string
			ok(t, raw(t, path).QueryRowContext(t.Context(), "SELECT title_by, description_by "+
				"FROM tasks WHERE id = ?", id).Scan(&title, &description))
			t.Errorf("task %d: got title by %q and description by %q, want %q", id, title, description, want)
		}
	}
	if _, err := os.Stat(path + ".before-4"); err != nil {
		t.Errorf("no copy was made before the migration: %v", err)
	}
}
