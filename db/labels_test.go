package db_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// TestALabelListsItsOpenTasksInQueueOrder changes tasks in every way that moves
// them into, out of or within the list of a label.
func TestALabelListsItsOpenTasksInQueueOrder(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	ids := make([]task.ID, 12)
	write(t, d, func(tx *db.Tx) (err error) {
		for i := range ids {
			tk := &task.Task{Title: fmt.Sprint(i), Owner: "coder", CreatedBy: "user:maya", Status: task.Active, Channel: "web", Priority: i % 3}
			if tk.Labels = []string{"a"}; i%2 == 0 {
				tk.Labels = []string{"a", "b"}
			}
			if i == 11 {
				tk.Labels = nil
			}
			if ids[i], err = tx.InsertTask(tk); err != nil {
				return err
			}
		}
		return nil
	})
	list := func(f task.TaskFilter) (titles string) {
		t.Helper()
		f.Limit = 4
		ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
			var got []string
			for {
				page, next, err := rx.OpenTasks(f, true)
				for _, tk := range page {
					got = append(got, tk.Title)
				}
				if f.After = next; err != nil || next == "" {
					titles = strings.Join(got, " ")
					return err
				}
			}
		}))
		return titles
	}
	counts := func(label string) (n int) {
		t.Helper()
		ok(t, d.Read(t.Context(), func(rx *db.Rx) (err error) {
			n, err = rx.CountOpenTasks(task.TaskFilter{Label: label})
			return err
		}))
		return n
	}
	edit := func(i int, change func(*task.Task)) {
		t.Helper()
		write(t, d, func(tx *db.Tx) error {
			tk, err := tx.Task(ids[i])
			if err != nil {
				return err
			}
			change(tk)
			return tx.UpdateTask(tk)
		})
	}
	equal(t, "a", list(task.TaskFilter{Label: "a"}), "2 5 8 1 4 7 10 0 3 6 9")
	equal(t, "b", list(task.TaskFilter{Label: "b"}), "2 8 4 10 0 6")
	equal(t, "b by title", list(task.TaskFilter{Label: "b", Sort: task.SortTitle}), "0 10 2 4 6 8")
	equal(t, "c", list(task.TaskFilter{Label: "c"}), "")
	equal(t, "b of coder", list(task.TaskFilter{Label: "b", Owner: "coder"}), "2 8 4 10 0 6")
	equal(t, "b of nobody", list(task.TaskFilter{Label: "b", Owner: "scout"}), "")
	equal(t, "b from priority 1", list(task.TaskFilter{Label: "b", MinPriority: new(1)}), "2 8 4 10")
	edit(2, func(tk *task.Task) { tk.Labels = []string{"c", "a"} })
	edit(4, func(tk *task.Task) { tk.Priority = 9 })
	edit(6, func(tk *task.Task) { tk.Labels = nil })
	edit(8, func(tk *task.Task) { tk.Title = "eight" })
	edit(11, func(tk *task.Task) { tk.Labels, tk.Priority = []string{"b"}, -1 })
	write(t, d, func(tx *db.Tx) error { return tx.Archive(ids[10], task.Done, "") })
	equal(t, "b after changes", list(task.TaskFilter{Label: "b"}), "4 eight 0 11")
	equal(t, "c after changes", list(task.TaskFilter{Label: "c"}), "2")
	equal(t, "number of b", counts("b"), 4)
	ok(t, d.Read(t.Context(), func(rx *db.Rx) error { return rx.CheckInvariants() }))
	equal(t, "rows", count(t, d, "SELECT count(*) FROM open_labels"), 9+4+1)
	for _, damage := range [][2]string{
		{"DELETE FROM open_labels WHERE task_id = 1 AND label = 'a'", "an open task that its label does not list (task 1)"},
		{"INSERT INTO open_labels SELECT v.column1, 0, created_at, id FROM tasks, (VALUES ('a'), ('x')) v WHERE id = 1", "a label listed for a task without it (task 1)"},
	} {
		_, err := raw(t, d.Path()).ExecContext(t.Context(), damage[0])
		ok(t, err)
		ok(t, d.Read(t.Context(), func(rx *db.Rx) error { errorContains(t, rx.CheckInvariants(), damage[1]); return nil }))
	}
}

// TestALabelWithManyTasksIsReadFromAnAgentsQueue gives a label more tasks than a
// column of a board scans.
func TestALabelWithManyTasksIsReadFromAnAgentsQueue(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	write(t, d, func(tx *db.Tx) error {
		for i := range 1010 {
			tk := &task.Task{Title: "t", Owner: "scout", CreatedBy: "user:maya", Status: task.Active, Channel: "web", Labels: []string{"many"}}
			if i%101 == 0 {
				tk.Owner = "coder"
			}
			if _, err := tx.InsertTask(tk); err != nil {
				return err
			}
		}
		return nil
	})
	for owner, want := range map[string]int{"": task.MaxCounted + 1, "scout": 1000, "coder": 10, "nobody": 0} {
		ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
			n, err := rx.CountOpenTasks(task.TaskFilter{Label: "many", Owner: owner})
			equal(t, "tasks of "+owner, n, want)
			return err
		}))
	}
}

// TestMigrationIndexesExistingLabels migrates tasks of schema 11.
func TestMigrationIndexesExistingLabels(t *testing.T) {
	t.Parallel()
	dbtest.SQLiteOnly(t)
	const row = "INSERT INTO tasks (title, owner, created_by, created_at, updated_at, priority, labels, archived_at, status) " +
		"VALUES ('%s', 'coder', 'user:maya', 1, 1, %d, '%s', %s)"
	d := dbtest.Open(t, atSchema(
		t, 11,
		fmt.Sprintf(row, "low", 1, "a b", "NULL, 'active'"), fmt.Sprintf(row, "high", 2, "b", "NULL, 'draft'"),
		fmt.Sprintf(row, "bare", 3, "", "NULL, 'active'"), fmt.Sprintf(row, "done", 3, "b", "1, 'done'"),
	))
	ok(t, d.Read(t.Context(), func(rx *db.Rx) error {
		list, _, err := rx.OpenTasks(task.TaskFilter{Label: "b", Limit: 10}, true)
		titles := make([]string, len(list))
		for i, tk := range list {
			titles[i] = tk.Title
		}
		if want := []string{"high", "low"}; !slices.Equal(titles, want) {
			t.Errorf("label b: got %q, want %q", titles, want)
		}
		return err
	}))
}
